//! Files that appear whole or not at all.

use std::path::Path;

use tempfile::NamedTempFile;

/// A temporary file in `folder`, to be filled and then renamed into place. Others may read it as they may read any new
/// file; temporary files are private otherwise.
pub(crate) fn temporary_in(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
