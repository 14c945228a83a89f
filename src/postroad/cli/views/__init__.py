"""Terminal output: one module for each kind of object, which turns values into text, tables and trees."""
