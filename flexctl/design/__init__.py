"""Design methods: each file is one way to design a control law."""
