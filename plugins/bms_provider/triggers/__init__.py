"""What watches from the triggerer; a trigger announces and never creates."""
