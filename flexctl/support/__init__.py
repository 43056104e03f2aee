"""Helpers of every layer: files written whole or not at all, memory asked for before use, checks of numbers."""
