// @ts-check
'use strict';

// Decodes an image, makes it smaller and encodes it again, in a separate thread, because that takes up to seconds. The codecs are WebAssembly. Plain
// JavaScript, so that the thread can also be started from the sources.

const { readFileSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const { gifFrame, placed, webpFrame } = require('./first-frame');

/**
 * @typedef {{ bytes: Uint8Array, mediaType: string, maxWidth: number, maxHeight: number, maxBytes: number }} ImageWork
 * @typedef {{ bytes: Uint8Array, mediaType: 'image/png' | 'image/jpeg', width: number, height: number, isFirstFrame?: boolean }} MadeImage
 * @typedef {MadeImage | { thrown: string }} ImageAnswer
 * @typedef {{ data: any, width: number, height: number, isFirstFrame?: boolean }} Pixels A Uint8ClampedArray of RGBA, from the top left.
 */

/** Marks that this file runs as the thread. */
const threadName = 'longhaul-image-thread';

/** Tried in this order until the result is small enough. */
const jpegQualities = [85, 60, 35];

/** @param {ImageWork} work @returns {Promise<ImageAnswer>} */
async function made(work) {
  try {
    return await smaller(work);
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : 'the file is damaged' };
  }
}

/** @param {ImageWork} work @returns {Promise<MadeImage>} */
async function smaller({ bytes, mediaType, maxWidth, maxHeight, maxBytes }) {
  const whole = await decoded(bytes, mediaType);
  const frame = whole.isFirstFrame ? { isFirstFrame: true } : {};
  const pixels = shrunk(whole, maxWidth, maxHeight);
  const { width, height } = pixels;
  if (mediaType !== 'image/jpeg') {
    const png = await encodedPng(pixels);
    if (png.length <= maxBytes) return { bytes: png, mediaType: 'image/png', width, height, ...frame };
  }
  const encode = await jpegEncoder();
  onWhite(pixels);
  for (const quality of jpegQualities) {
    const jpeg = new Uint8Array(await encode(pixels, { quality }));
    if (jpeg.length <= maxBytes) return { bytes: jpeg, mediaType: 'image/jpeg', width, height, ...frame };
  }
  throw new Error(`scaled to ${width}x${height} pixels it still has more than ${maxBytes} bytes`);
}

/** @param {Uint8Array} bytes @param {string} mediaType @returns {Promise<Pixels>} */
async function decoded(bytes, mediaType) {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (mediaType === 'image/bmp') return decodedBmp(file);
  if (mediaType === 'image/gif') return gifFrame(file);
  if (mediaType === 'image/webp') return decodedWebp(file);
  const own = /** @type {ArrayBuffer} */ (bytes.slice().buffer);
  if (mediaType === 'image/png') {
    const { decode, init } = await import('@jsquash/png/decode.js');
    await init(codec('@jsquash/png/codec/pkg/squoosh_png_bg.wasm'));
    return decode(own);
  }
  const { default: decode, init } = /** @type {any} */ (await import('@jsquash/jpeg/decode.js'));
  await init(codec('@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'), quiet);
  // As cameras mark it: the mark itself is lost.
  return decode(own, { preserveOrientation: true });
}

/** @param {Buffer} file @returns {Promise<Pixels>} */
async function decodedWebp(file) {
  const { default: decode, init } = /** @type {any} */ (await import('@jsquash/webp/decode.js'));
  await init(codec('@jsquash/webp/codec/dec/webp_dec.wasm'), quiet);
  const frame = webpFrame(file);
  const bytes = frame?.bytes ?? file;
  const pixels = await decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return frame ? { ...placed(pixels, frame), isFirstFrame: frame.isFirstFrame } : pixels;
}

async function jpegEncoder() {
  const { default: encode, init } = /** @type {any} */ (await import('@jsquash/jpeg/encode.js'));
  await init(codec('@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm'), quiet);
  return encode;
}

/** @param {Pixels} pixels */
async function encodedPng(pixels) {
  const { default: encode, init } = await import('@jsquash/png/encode.js');
  await init(codec('@jsquash/png/codec/pkg/squoosh_png_bg.wasm'));
  return new Uint8Array(await encode(/** @type {any} */ (pixels)));
}

/** Reads the file itself: the codecs would fetch it. @param {string} file */
function codec(file) {
  return new /** @type {any} */ (globalThis).WebAssembly.Module(readFileSync(require.resolve(file)));
}

const quiet = { print() {}, printErr() {} };

/** What the decoders return. */
class DecodedImage {
  /** @param {Uint8ClampedArray} data @param {number} width @param {number} height */
  constructor(data, width, height) {
    Object.assign(this, { data, width, height });
  }
}

/**
 * Scales to fit, never up: each pixel is the average of those that it covers, weighted by their opacity.
 * @param {Pixels} from @param {number} maxWidth @param {number} maxHeight @returns {Pixels}
 */
function shrunk(from, maxWidth, maxHeight) {
  const scale = Math.min(1, maxWidth / from.width, maxHeight / from.height);
  if (scale === 1) return from;
  const [width, height] = [Math.max(1, Math.round(from.width * scale)), Math.max(1, Math.round(from.height * scale))];
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    const rows = covered(y, from.height / height, from.height);
    for (let x = 0; x < width; x += 1) average(from, covered(x, from.width / width, from.width), rows, data, (y * width + x) * 4);
  }
  return { data, width, height };
}

/** The pixels that one at `at` covers: from the first to before the last. @param {number} at @param {number} step @param {number} end */
function covered(at, step, end) {
  const first = Math.floor(at * step);
  return /** @type {const} */ ([first, Math.max(first + 1, Math.min(end, Math.floor((at + 1) * step)))]);
}

/** @param {Pixels} from @param {readonly [number, number]} columns @param {readonly [number, number]} rows @param {Uint8ClampedArray} to @param {number} at */
function average({ data, width }, columns, rows, to, at) {
  let [red, green, blue, alpha] = [0, 0, 0, 0];
  for (let y = rows[0]; y < rows[1]; y += 1) {
    for (let i = (y * width + columns[0]) * 4; i < (y * width + columns[1]) * 4; i += 4) {
      const opacity = data[i + 3];
      red += data[i] * opacity;
      green += data[i + 1] * opacity;
      blue += data[i + 2] * opacity;
      alpha += opacity;
    }
  }
  to[at] = red / (alpha || 1);
  to[at + 1] = green / (alpha || 1);
  to[at + 2] = blue / (alpha || 1);
  to[at + 3] = alpha / ((columns[1] - columns[0]) * (rows[1] - rows[0]));
}

/** JPEG has no transparency. @param {Pixels} pixels */
function onWhite({ data }) {
  for (let i = 0; i < data.length; i += 4) {
    const opacity = data[i + 3] / 255;
    for (let c = i; c < i + 3; c += 1) data[c] = data[c] * opacity + 255 * (1 - opacity);
    data[i + 3] = 255;
  }
}

/** Without compression, with 1, 4, 8, 24 or 32 bits for a pixel. Reads behind the end throw. @param {Buffer} file @returns {Pixels} */
function decodedBmp(file) {
  const [start, header, bits, compression] = [file.readUInt32LE(10), file.readUInt32LE(14), file.readUInt16LE(28), file.readUInt32LE(30)];
  const [width, signedHeight] = [file.readInt32LE(18), file.readInt32LE(22)];
  const height = Math.abs(signedHeight);
  const isPlain = compression === 0 || (compression === 3 && bits === 32 && file.readUInt32LE(54) === 0xff0000);
  if (header < 40 || !isPlain || ![1, 4, 8, 24, 32].includes(bits)) throw new Error('it is a BMP file of a kind that is not supported');
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  const palette = 14 + header;
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y += 1) {
    const row = start + (signedHeight < 0 ? y : height - 1 - y) * rowBytes;
    for (let x = 0; x < width; x += 1) {
      const bit = x * bits;
      const byte = file.readUInt8(row + (bit >> 3));
      const color = bits >= 24 ? row + (bit >> 3) : palette + 4 * ((byte >> (8 - bits - (bit & 7))) & ((1 << bits) - 1));
      data.set([file.readUInt8(color + 2), file.readUInt8(color + 1), file.readUInt8(color), 255], (y * width + x) * 4);
    }
  }
  return { data, width, height };
}

if (workerData === threadName) {
  Object.assign(globalThis, { ImageData: DecodedImage });
  parentPort?.on('message', async (work) => parentPort?.postMessage(await made(work)));
  // Reports that the thread is ready.
  parentPort?.postMessage({ thrown: '' });
}

module.exports = { threadName };
