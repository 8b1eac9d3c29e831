import { crc32 } from 'node:zlib';

export interface ImageHeader {
  mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp' | 'image/bmp';
  width: number;
  height: number;
  /** Whether the end of the image is there. Providers reject a request with an incomplete one. */
  isComplete: boolean;
}

/** Reads the format and the size of an image from its bytes, whatever its name; `undefined` if it is none of these formats, or damaged. */
export function imageHeader(bytes: Buffer): ImageHeader | undefined {
  try {
    return png(bytes) ?? jpeg(bytes) ?? gif(bytes) ?? webp(bytes) ?? bmp(bytes);
  } catch {
    // A read behind the end of the bytes.
    return undefined;
  }
}

function begins(bytes: Buffer, ...signatures: string[]): boolean {
  return signatures.some((signature) => bytes.toString('latin1', 0, signature.length) === signature);
}

const pngSignature = '\x89PNG\r\n\x1a\n';

function png(bytes: Buffer): ImageHeader | undefined {
  if (!begins(bytes, pngSignature)) return undefined;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), isComplete: hasSoundChunks(bytes) };
}

/** Whether there are a header, data and an end, and each chunk (length, type, data, checksum) is whole. */
function hasSoundChunks(bytes: Buffer): boolean {
  let hasData = false;
  for (let at = pngSignature.length; at + 12 <= bytes.length; ) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (end + 4 > bytes.length || bytes.readUInt32BE(end) !== crc32(bytes.subarray(at + 4, end))) return false;
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (at === pngSignature.length && type !== 'IHDR') return false;
    if (type === 'IEND') return hasData;
    hasData ||= type === 'IDAT' && end > at + 8;
    at = end + 4;
  }
  return false;
}

/**
 * The size is in the first segment that begins a frame: C0 to CF, except tables (C4), an extension (C8) and arithmetic coding (CC). A marker without a
 * length (01, D0 to D9) has no place before it, and neither has image data (DA): decoders skip such a marker, and would then find another size.
 */
function jpeg(bytes: Buffer): ImageHeader | undefined {
  if (!begins(bytes, '\xff\xd8\xff')) return undefined;
  for (let at = 2; bytes[at] === 0xff; ) {
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      // Any number of fill bytes may be in front of a marker.
      at += 1;
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)];
      return { mediaType: 'image/jpeg', width, height, isComplete: bytes.lastIndexOf('\xff\xd9', undefined, 'latin1') > at };
    }
    const length = bytes.readUInt16BE(at + 2);
    if (marker <= 0x01 || (marker >= 0xd0 && marker <= 0xda) || length < 2) return undefined;
    at += 2 + length;
  }
  return undefined;
}

function gif(bytes: Buffer): ImageHeader | undefined {
  if (!begins(bytes, 'GIF87a', 'GIF89a')) return undefined;
  return { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8), isComplete: bytes.lastIndexOf(0x3b) > 12 };
}

/** A lossy, a lossless or an extended file. */
function webp(bytes: Buffer): ImageHeader | undefined {
  if (!begins(bytes, 'RIFF') || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  const isComplete = bytes.length >= bytes.readUInt32LE(4) + 8;
  const sized = (width: number, height: number) => ({ mediaType: 'image/webp' as const, width, height, isComplete });
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return sized(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return sized(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default:
      return undefined;
  }
}

function bmp(bytes: Buffer): ImageHeader | undefined {
  if (!begins(bytes, 'BM')) return undefined;
  const isComplete = bytes.length >= bytes.readUInt32LE(2);
  return { mediaType: 'image/bmp', width: bytes.readInt32LE(18), height: Math.abs(bytes.readInt32LE(22)), isComplete };
}
