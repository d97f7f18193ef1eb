"""What Python expressions stand for while a function is read: values, shapes, dtypes."""
