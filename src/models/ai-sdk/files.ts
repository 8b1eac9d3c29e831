import type { FileData, SpecVersion } from './spec';

export function fileData(data: string | URL, version: SpecVersion): FileData {
  if (version !== 'v4') return data;
  return typeof data === 'string' ? { type: 'data', data } : { type: 'url', url: data };
}
