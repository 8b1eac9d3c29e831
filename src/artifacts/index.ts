export { ArtifactError } from './artifact-error';
export type { ArtifactKey, ArtifactStore } from './artifact-store';
export { Artifacts } from './artifacts';
export { artifactsAt } from './artifacts-at';
export { folderArtifacts } from './folder-artifacts';
export { memoryArtifacts } from './memory-artifacts';
export { postgresArtifacts } from './postgres-artifacts';
export { type S3ArtifactsOptions, s3Artifacts } from './s3-artifacts';
