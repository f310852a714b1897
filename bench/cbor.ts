/** Our deterministic codec beside cbor-x, which writes and accepts more than one encoding. */
import { Encoder } from 'cbor-x'
import { type CborValue, decode, encode } from '../protocol/encoding/cbor.ts'
import { atLeast, median, type Row } from './lib/hub-load.ts'

const ROUNDS = 7
const TIMES = 50_000
const ENCODE_RATIO_MIN = 0.5
/** Decoding also proves that no other bytes mean the same. */
const DECODE_RATIO_MIN = 0.33

/** A map as records have it: nine unsigned keys, a time above 2^32, bytes, text, a list. */
const value: CborValue = new Map<number, CborValue>([
  [1, 1],
  [2, new Uint8Array(33)],
  [3, 1_780_000_000_000],
  [4, 'a text of some length'],
  [5, [1, 2, 3]],
  [6, true],
  [7, new Uint8Array(16)],
  [8, new Uint8Array(32)],
  [9, 0],
])

export async function run(): Promise<Row[]> {
  const other = new Encoder({
    mapsAsObjects: false,
    useRecords: false,
    variableMapSize: true,
    tagUint8Array: false,
  })
  const bytes = encode(value)
  return [
    atLeast(
      'encode ÷ cbor-x',
      ratio(
        () => encode(value),
        () => other.encode(value),
      ),
      'times',
      ENCODE_RATIO_MIN,
    ),
    atLeast(
      'strict decode ÷ cbor-x',
      ratio(
        () => decode(bytes),
        () => other.decode(bytes),
      ),
      'times',
      DECODE_RATIO_MIN,
    ),
  ]
}

/** How many times as often `ours` runs as `theirs`, in turn. */
function ratio(ours: () => unknown, theirs: () => unknown): number {
  const ratios: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const [a, b] = [milliseconds(ours), milliseconds(theirs)]
    ratios.push(b / a)
  }
  return median(ratios)
}

function milliseconds(work: () => unknown): number {
  const started = performance.now()
  for (let i = 0; i < TIMES; i++) work()
  return performance.now() - started
}
