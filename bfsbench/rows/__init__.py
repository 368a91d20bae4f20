"""Define result rows: their columns, their files, and the code and machine that they come from."""
