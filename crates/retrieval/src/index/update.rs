//! Adding to and deleting from an index that is there. Either is one new manifest: a crash leaves the index as it was or
//! as it should be.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;

use counterproof_core::{Error, Passage, PassageId, Result, UserError};

use super::build::{discard, embed, next_generation, spawn};
use super::content::{ContentDigest, words_key};
use super::manifest::{DELETIONS, Manifest, SEGMENTS, SegmentInfo, WriteLock, sync_folder};
use super::segment::SegmentWriter;
use super::{EmbeddedIndex, Snapshot};
use crate::bitmap::Bitmap;

/// Additions make small segments. When this many have come together, they are merged into one.
const SMALL_SEGMENTS: usize = 8;

/// A segment with fewer rows is small.
const SMALL_ROWS: u32 = 1 << 14;

/// Passages that are embedded together.
const BATCH: usize = 256;

/// What came of an addition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddReport {
    /// Passages that were added.
    pub added: u64,
    /// Passages that were there already, word for word.
    pub duplicates: u64,
    /// Ids that are there with other words, and were left as they are: delete them first to replace them.
    pub conflicts: Vec<PassageId>,
}

impl EmbeddedIndex {
    /// Adds passages. They can be found as soon as this returns.
    ///
    /// # Errors
    /// When the index holds vectors and there is no embedder to make more, when another process is writing, when the
    /// embedder fails, or when the disk does. The index is then as it was.
    pub async fn add(&mut self, passages: Vec<Passage>) -> Result<AddReport> {
        let lock = self.lock()?;
        let mut report = AddReport::default();
        let mut new: Vec<Passage> = Vec::new();
        let mut seen: HashMap<PassageId, u128> = HashMap::new();
        for passage in passages {
            self.limits.check_passage(&passage.text)?;
            let words = words_key(&passage);
            let known = match seen.get(&passage.id) {
                Some(words) => Some(*words),
                None => self.get(&passage.id)?.as_ref().map(words_key),
            };
            match known {
                Some(known) if known == words => report.duplicates += 1,
                Some(_) => report.conflicts.push(passage.id),
                None => {
                    seen.insert(passage.id.clone(), words);
                    new.push(passage);
                }
            }
        }
        if new.is_empty() {
            return Ok(report);
        }
        report.added = new.len() as u64;
        let vectors = match (&self.snapshot.manifest.embedder, &self.embedder) {
            (None, _) => None,
            (Some(_), Some(embedder)) => {
                let mut vectors = Vec::with_capacity(new.len());
                for batch in new.chunks(BATCH) {
                    vectors.extend(embed(embedder.as_ref(), batch).await?);
                }
                Some(vectors)
            }
            (Some(made_by), None) => {
                return Err(UserError::Unsupported {
                    who: "an index opened without its embedder".to_owned(),
                    what: format!("take new passages; open it with {}", made_by.identity),
                }
                .into());
            }
        };
        let (folder, snapshot) = (self.folder.clone(), std::sync::Arc::clone(&self.snapshot));
        let written = spawn(move || {
            let _lock = lock;
            let segments = folder.join(SEGMENTS);
            let mut manifest = snapshot.manifest.clone();
            manifest.generation = next_generation(&folder);
            let dimension = manifest.embedder.as_ref().map(|e| e.dimension);
            let result = (|| {
                let name = format!("{}-0", manifest.generation);
                let mut writer = SegmentWriter::create(&segments, &name, dimension)?;
                let mut vectors = vectors.map(Vec::into_iter);
                for passage in &new {
                    writer.add(passage, vectors.as_mut().and_then(Iterator::next).as_deref())?;
                    manifest.content.add(ContentDigest::of(passage));
                }
                manifest.passages += new.len() as u64;
                manifest.segments.push(writer.finish()?);
                sync_folder(&segments).map_err(|e| Error::io("writing", &segments, &e))?;
                manifest.commit(&folder)
            })();
            match result {
                Ok(()) => manifest.sweep(&folder),
                Err(_) => discard(&segments, manifest.generation),
            }
            result
        })?;
        written.await.map_err(|_| Error::failed("adding passages", "the writer ended early"))??;
        self.reload()?;
        let small = self.snapshot.segments.iter().filter(|s| s.info.rows < SMALL_ROWS).count();
        if small >= SMALL_SEGMENTS {
            self.merge(|info| info.rows < SMALL_ROWS).await?;
        }
        Ok(report)
    }

    /// Deletes passages and says how many of the ids were there. They cannot be found any more as soon as this returns;
    /// their room is given back by [`compact`](Self::compact).
    ///
    /// # Errors
    /// When another process is writing, or the disk fails. The index is then as it was.
    pub fn delete<'a>(&mut self, ids: impl IntoIterator<Item = &'a PassageId>) -> Result<u64> {
        let _lock = self.lock()?;
        let mut manifest = self.snapshot.manifest.clone();
        manifest.generation = next_generation(&self.folder);
        let mut bitmaps: HashMap<usize, Bitmap> = HashMap::new();
        let mut count = 0u64;
        for id in ids.into_iter().collect::<HashSet<_>>() {
            let Some((at, row)) = self.snapshot.find(id) else { continue };
            let Some(segment) = self.snapshot.segments.get(at) else { continue };
            let bitmap = bitmaps.entry(at).or_insert_with(|| segment.deleted.clone().unwrap_or_default());
            if bitmap.insert(row) {
                count += 1;
                manifest.content.remove(ContentDigest::of(&segment.texts.passage(row as usize)?));
            }
        }
        if count == 0 {
            return Ok(0);
        }
        manifest.passages = manifest.passages.saturating_sub(count);
        for (at, bitmap) in bitmaps {
            let Some(info) = manifest.segments.get_mut(at) else { continue };
            let name = format!("{DELETIONS}{}", manifest.generation);
            let folder = self.folder.join(SEGMENTS).join(&info.name);
            let path = folder.join(&name);
            let write = || {
                let mut file = File::create(&path)?;
                file.write_all(&bitmap.to_bytes())?;
                file.sync_all()?;
                sync_folder(&folder)
            };
            write().map_err(|e| Error::io("writing", &path, &e))?;
            info.deleted = u32::try_from(bitmap.len()).unwrap_or(u32::MAX);
            info.deletions = Some(name);
        }
        manifest.commit(&self.folder)?;
        manifest.sweep(&self.folder);
        self.reload()?;
        Ok(count)
    }

    /// Rewrites the segments that hold deleted passages, and merges the small ones, so that the room is given back and
    /// the statistics of BM25 are those of the passages that are left.
    ///
    /// # Errors
    /// When another process is writing, or the disk fails. The index is then as it was.
    pub async fn compact(&mut self) -> Result<()> {
        self.merge(|info| info.deleted > 0 || info.rows < SMALL_ROWS).await
    }

    /// Writes the live rows of the segments that `chosen` picks into one.
    async fn merge(&mut self, chosen: impl Fn(&SegmentInfo) -> bool) -> Result<()> {
        let lock = self.lock()?;
        let (folder, snapshot) = (self.folder.clone(), std::sync::Arc::clone(&self.snapshot));
        let picked: HashSet<String> =
            snapshot.manifest.segments.iter().filter(|s| chosen(s)).map(|s| s.name.clone()).collect();
        if picked.is_empty()
            || (picked.len() == 1 && snapshot.manifest.segments.iter().all(|s| s.deleted == 0))
        {
            return Ok(());
        }
        let written = spawn(move || {
            let _lock = lock;
            rewrite(&folder, &snapshot, &picked)
        })?;
        written.await.map_err(|_| Error::failed("merging segments", "the writer ended early"))??;
        self.reload()
    }

    /// Takes the right to write, and takes up what others wrote before.
    fn lock(&mut self) -> Result<WriteLock> {
        let lock = WriteLock::take(&self.folder)?;
        if Manifest::read(&self.folder)?.generation != self.snapshot.manifest.generation {
            self.reload()?;
        }
        Ok(lock)
    }
}

fn rewrite(folder: &std::path::Path, snapshot: &Snapshot, picked: &HashSet<String>) -> Result<()> {
    let segments = folder.join(SEGMENTS);
    let mut manifest = snapshot.manifest.clone();
    manifest.generation = next_generation(folder);
    let dimension = manifest.embedder.as_ref().map(|e| e.dimension);
    let result = (|| {
        let name = format!("{}-0", manifest.generation);
        let mut writer = SegmentWriter::create(&segments, &name, dimension)?;
        for segment in snapshot.segments.iter().filter(|s| picked.contains(&s.info.name)) {
            for row in (0..segment.info.rows).filter(|row| segment.is_live(*row)) {
                writer.add_from(segment, row)?;
            }
        }
        manifest.segments.retain(|s| !picked.contains(&s.name));
        if writer.rows() > 0 {
            manifest.segments.push(writer.finish()?);
        }
        sync_folder(&segments).map_err(|e| Error::io("writing", &segments, &e))?;
        manifest.commit(folder)
    })();
    match result {
        Ok(()) => manifest.sweep(folder),
        Err(_) => discard(&segments, manifest.generation),
    }
    result
}
