"""What makes laws: each file is one way to design one."""
