"""Sphinx's settings for the site."""

from importlib.metadata import version as version_of

from notebooks.making.address import BRANCH, repository

project = "xlascope"
release = version = version_of(project)
extensions = ["myst_nb", "sphinx_copybutton"]
myst_enable_extensions = ["html_image", "dollarmath"]
myst_heading_anchors = 4
#: Outputs are in the notebooks, made by `make notebooks`.
nb_execution_mode = "off"
default_role = "code"
add_module_names = False
python_display_short_literal_types = True
maximum_signature_line_length = 100
html_theme = "furo"
html_title = "xlascope"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"source_repository": repository(), "source_branch": BRANCH, "source_directory": ""}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
