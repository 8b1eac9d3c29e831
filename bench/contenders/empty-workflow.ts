export async function empty(): Promise<void> {}
