/** An artifact can't be read. The message is for the model. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError';

  /** `away`: it may be readable later, or in another process. */
  constructor(
    readonly kind: 'missing' | 'damaged' | 'away',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What the store has under the id is not what was stored. */
export function damaged(id: string): ArtifactError {
  return new ArtifactError(
    'damaged',
    `The stored output with ref '${id}' is damaged: its bytes have changed. Call the tool again to get it anew.`,
  );
}
