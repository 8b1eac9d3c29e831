export type { ArtifactKey, ArtifactStore } from './artifact-store';
export { ArtifactError, Artifacts } from './artifacts';
export { folderArtifacts } from './folder-artifacts';
export { memoryArtifacts } from './memory-artifacts';
