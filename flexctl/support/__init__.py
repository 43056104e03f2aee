"""What every layer leans on: files written whole or not at all, memory asked for before use, checks of numbers."""
