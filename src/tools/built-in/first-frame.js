// @ts-check
'use strict';

// Takes the first frame out of a GIF or an animated WebP file. Reads behind the end throw.

/** @typedef {{ data: Uint8ClampedArray, width: number, height: number }} Pixels RGBA, from the top left. */

const damaged = () => new Error('the file is damaged');
const mostCodes = 4_096;
/** Where the rows of an interlaced image begin, and how far they are apart. @type {readonly (readonly [number, number])[]} */
const passes = [
  [0, 8],
  [4, 8],
  [2, 4],
  [1, 2],
];

/** @param {Buffer} file @returns {Pixels & { isFirstFrame: boolean }} */
function gifFrame(file) {
  const [width, height, flags] = [file.readUInt16LE(6), file.readUInt16LE(8), file.readUInt8(10)];
  let at = 13;
  const palette = paletteAt(file, at, flags);
  at += palette.length;
  let transparent = -1;
  for (; file.readUInt8(at) !== 0x2c; at = behindBlocks(file, at + 2)) {
    if (file.readUInt8(at) !== 0x21) throw damaged();
    // A graphic control: one index may be transparent.
    if (file.readUInt8(at + 1) === 0xf9) transparent = file.readUInt8(at + 3) & 1 ? file.readUInt8(at + 6) : -1;
  }
  const [left, top] = [file.readUInt16LE(at + 1), file.readUInt16LE(at + 3)];
  const [columns, rows] = [file.readUInt16LE(at + 5), file.readUInt16LE(at + 7)];
  const own = file.readUInt8(at + 9);
  if (left + columns > width || top + rows > height) throw damaged();
  at += 10;
  const colors = own & 0x80 ? paletteAt(file, at, own) : palette;
  at += own & 0x80 ? colors.length : 0;
  const data = new Uint8ClampedArray(width * height * 4);
  const order = own & 0x40 ? passes.flatMap(([first, step]) => rowsFrom(first, step, rows)) : rowsFrom(0, 1, rows);
  let pixel = 0;
  lzw(blocksAt(file, at + 1), file.readUInt8(at), columns * rows, (index) => {
    const to = ((top + (order[Math.floor(pixel / columns)] ?? 0)) * width + left + (pixel % columns)) * 4;
    pixel += 1;
    if (index === transparent) return;
    data[to] = colors[index * 3] ?? 0;
    data[to + 1] = colors[index * 3 + 1] ?? 0;
    data[to + 2] = colors[index * 3 + 2] ?? 0;
    data[to + 3] = 255;
  });
  return { data, width, height, isFirstFrame: hasImage(file, behindBlocks(file, at + 1)) };
}

/** @param {Buffer} file @param {number} at @param {number} flags */
function paletteAt(file, at, flags) {
  return flags & 0x80 ? file.subarray(at, at + 3 * 2 ** ((flags & 7) + 1)) : file.subarray(0, 0);
}

/** @param {number} first @param {number} step @param {number} end @returns {number[]} */
function rowsFrom(first, step, end) {
  return Array.from({ length: Math.max(0, Math.ceil((end - first) / step)) }, (_, i) => first + i * step);
}

/** The content of the blocks, each with its length before it, up to an empty one. @param {Buffer} file @param {number} at */
function blocksAt(file, at) {
  const blocks = [];
  for (let size = file.readUInt8(at); size > 0; size = file.readUInt8(at)) {
    blocks.push(file.subarray(at + 1, at + 1 + size));
    at += 1 + size;
  }
  return Buffer.concat(blocks);
}

/** @param {Buffer} file @param {number} at @returns {number} */
function behindBlocks(file, at) {
  for (let size = file.readUInt8(at); size > 0; size = file.readUInt8(at)) at += 1 + size;
  return at + 1;
}

/** Whether another image follows. A file may also just end. @param {Buffer} file @param {number} at */
function hasImage(file, at) {
  try {
    while (file.readUInt8(at) === 0x21) at = behindBlocks(file, at + 2);
    return file.readUInt8(at) === 0x2c;
  } catch {
    return false;
  }
}

/** @param {Buffer} bytes @param {number} bits @param {number} count How many indices there are. @param {(index: number) => void} put */
function lzw(bytes, bits, count, put) {
  if (bits < 2 || bits > 8) throw damaged();
  const [clear, end] = [1 << bits, (1 << bits) + 1];
  // Of each code: the code of the text before its last index, and that index.
  /** @type {any} */
  const before = new Uint16Array(mostCodes);
  /** @type {any} */
  const last = new Uint8Array(mostCodes).map((_, code) => code & 0xff);
  /** @type {any} */
  const text = new Uint8Array(mostCodes + 1);
  let [next, size, previous, first] = [end + 1, bits + 1, -1, 0];
  let [bitAt, done] = [0, 0];
  while (done < count) {
    const code =
      ((bytes.readUInt8(bitAt >> 3) | ((bytes[(bitAt >> 3) + 1] ?? 0) << 8) | ((bytes[(bitAt >> 3) + 2] ?? 0) << 16)) >> (bitAt & 7)) &
      ((1 << size) - 1);
    bitAt += size;
    if (code === end) throw damaged();
    if (code === clear) {
      [next, size, previous] = [end + 1, bits + 1, -1];
      continue;
    }
    if (code > next || (code === next && previous === -1) || (previous === -1 && code > clear)) throw damaged();
    // A code that is only being made stands for the text before it and its first index.
    let [at, length] = [code, 0];
    if (code === next) {
      text[length++] = first;
      at = previous;
    }
    for (; at > end; at = before[at]) text[length++] = last[at];
    first = at;
    text[length++] = first;
    while (length > 0 && done < count) {
      put(text[--length]);
      done += 1;
    }
    if (previous !== -1 && next < mostCodes) {
      before[next] = previous;
      last[next] = first;
      next += 1;
      if (next === 1 << size && size < 12) size += 1;
    }
    previous = code;
  }
}

/**
 * Takes the first frame of an animated WebP file, as a file of its own; `undefined` if it is not animated.
 * @param {Buffer} file
 */
function webpFrame(file) {
  if (file.toString('latin1', 12, 16) !== 'VP8X' || !(file.readUInt8(20) & 2)) return undefined;
  const [width, height] = [file.readUIntLE(24, 3) + 1, file.readUIntLE(27, 3) + 1];
  const frames = chunksOf(file, 12).filter(({ name }) => name === 'ANMF');
  const frame = frames[0]?.data;
  if (!frame) throw damaged();
  const place = { left: frame.readUIntLE(0, 3) * 2, top: frame.readUIntLE(3, 3) * 2 };
  const [columns, rows] = [frame.readUIntLE(6, 3) + 1, frame.readUIntLE(9, 3) + 1];
  if (place.left + columns > width || place.top + rows > height) throw damaged();
  const parts = chunksOf(frame, 16).filter(({ name }) => ['ALPH', 'VP8 ', 'VP8L'].includes(name));
  const header = Buffer.alloc(10);
  // The frame has opacities of its own.
  header[0] = 0x10;
  header.writeUIntLE(columns - 1, 4, 3);
  header.writeUIntLE(rows - 1, 7, 3);
  const body = [chunk('VP8X', header), ...parts.map(({ name, data }) => chunk(name, data))];
  return { bytes: chunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...body])), width, height, ...place, isFirstFrame: frames.length > 1 };
}

/** @param {Buffer} file @param {number} from */
function chunksOf(file, from) {
  const found = [];
  for (let at = from; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    found.push({ name: file.toString('latin1', at, at + 4), data: file.subarray(at + 8, at + 8 + size) });
    at += 8 + size + (size & 1);
  }
  return found;
}

/** @param {string} name @param {Buffer} data */
function chunk(name, data) {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length & 1)]);
}

/**
 * Puts a frame into its place in an image that is transparent elsewhere.
 * @param {Pixels} frame @param {{ width: number, height: number, left: number, top: number }} image @returns {Pixels}
 */
function placed(frame, { width, height, left, top }) {
  if (frame.width === width && frame.height === height) return frame;
  const data = new Uint8ClampedArray(width * height * 4);
  const row = frame.width * 4;
  for (let y = 0; y < frame.height; y += 1) data.set(frame.data.subarray(y * row, (y + 1) * row), ((top + y) * width + left) * 4);
  return { data, width, height };
}

module.exports = { gifFrame, placed, webpFrame };
