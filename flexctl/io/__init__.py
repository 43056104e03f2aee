"""The borders: python-control, files, pictures, animations."""
