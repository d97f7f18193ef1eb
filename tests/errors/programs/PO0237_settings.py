import os
import tempfile
from pathlib import Path

from polyopt import settings


def act():
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "pyproject.toml"
        file.write_text("[project]\nname = 'x'\n\n[tool.polyopt]\nthreads = 2\n")
        os.chdir(directory)
        settings.forget_files()
        try:
            settings.setting("nvcc")
        except Exception as error:
            error.loc = None  # the directory's name changes
            raise
        finally:
            os.chdir(before)
            settings.forget_files()
