"""Programs for who works on the project: tables, pictures, pages, lints."""
