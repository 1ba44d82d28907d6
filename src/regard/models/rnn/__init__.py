"""The recurrent encoder–decoder, with or without attention."""
