import type { ArtifactStore } from './artifact-store';
import { folderArtifacts } from './folder-artifacts';

/** Returns the store at a place: the path of a folder. */
export function artifactsAt(place: string): ArtifactStore {
  return folderArtifacts({ path: place });
}
