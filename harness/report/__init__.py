"""What people read: tables, sentences and pictures, in every format."""
