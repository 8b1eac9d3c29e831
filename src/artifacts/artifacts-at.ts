import type { ArtifactStore } from './artifact-store';
import { folderArtifacts } from './folder-artifacts';
import { isPostgresUrl, postgresArtifacts } from './postgres-artifacts';
import { isS3Url, s3Artifacts, s3At } from './s3-artifacts';

/** Returns the store at a place: a `postgres://` or `s3://` URL, or the path of a folder. */
export function artifactsAt(place: string): ArtifactStore {
  if (isPostgresUrl(place)) return postgresArtifacts({ connectionString: place });
  if (isS3Url(place)) return s3Artifacts(s3At(place));
  return folderArtifacts({ path: place });
}
