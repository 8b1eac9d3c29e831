import type { ArtifactStore } from './artifact-store';
import { folderArtifacts } from './folder-artifacts';
import { isPostgresUrl, postgresArtifacts } from './postgres-artifacts';

/** Returns the store at a place: a `postgres://` URL, or the path of a folder. */
export function artifactsAt(place: string): ArtifactStore {
  if (isPostgresUrl(place)) return postgresArtifacts({ connectionString: place });
  return folderArtifacts({ path: place });
}
