/** The body of a send: the head first, then exactly the content that it names, in memory or in a file. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent } from '../../protocol/testing/agents.ts'
import { BlobFolder } from '../store/blobs/folder.ts'
import { refusedWith } from '../testing/core.ts'
import { random, TestAgent } from '../testing/hub.ts'
import { makeEnvelope } from '../testing/mail.ts'
import { type ByteSource, localContents, readEnvelopeHead } from './envelope-body.ts'
import { INLINE_BYTES_MAX } from './limits.ts'

const HEAD_BYTES = 1400
let folder: string
let blobs: BlobFolder
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-hub-body-'))
  blobs = new BlobFolder(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

const clock = { now: () => 1_800_000_000_000, advance: () => undefined }
const recipient = new TestAgent({ url: '', aid: agent('hub').aid, clock })
const envelope = (contentBytes: number): Uint8Array =>
  makeEnvelope(recipient, () => Uint8Array.of(0xa1, 1, 0), { contentBytes }).bytes
/** An envelope of exactly so many bytes in all. */
function sized(bytes: number): Uint8Array {
  const first = envelope(bytes - HEAD_BYTES)
  return envelope(bytes - HEAD_BYTES + (bytes - first.length))
}

/** Bytes in chunks that end at these places. */
function source(bytes: Uint8Array, ...ends: number[]): ByteSource {
  const places = [0, ...ends, bytes.length]
  let next = 0
  return {
    async next() {
      next += 1
      const [from, to] = [places[next - 1], places[next]]
      return from === undefined || to === undefined ? undefined : bytes.subarray(from, to)
    },
    accept: () => undefined,
  }
}

async function kept(bytes: Uint8Array, ends: number[] = [], declared?: number) {
  const body = await readEnvelopeHead(source(bytes, ...ends), declared)
  return await body.read(localContents(blobs, random))
}
const files = (): string[] => [
  ...readdirSync(join(folder, 'blobs'), { recursive: true, encoding: 'utf8' }).filter(
    name => name.length > 30,
  ),
  ...readdirSync(join(folder, 'tmp')),
]

describe.each([
  ['small', 5000],
  ['large', INLINE_BYTES_MAX + 5000],
])('a %s envelope', (_, bytes) => {
  const whole = sized(bytes)
  const longer = new Uint8Array([...whole, 0])

  test('is read to its end, however it comes', async () => {
    for (const ends of [[], [1, 2, 3], [1500], [1500, whole.length - 1], [whole.length - 1]]) {
      const { size, content, file } = await kept(whole, ends, whole.length)
      expect(size).toBe(bytes)
      expect([content !== undefined, file !== undefined]).toEqual(
        bytes < INLINE_BYTES_MAX ? [true, false] : [false, true],
      )
      if (content !== undefined) expect(Buffer.compare(content, whole)).toBe(0)
    }
  })

  test('leaves nothing when it is a byte too short or too long, or altered', async () => {
    const before = files()
    const altered = whole.slice()
    altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ 1
    for (const [wrong, ends] of [
      [whole.subarray(0, -1), []],
      [whole.subarray(0, -1), [1500]],
      [longer, []],
      [longer, [1500]],
      [longer, [1500, whole.length]],
      [altered, [1500]],
    ] as const)
      expect(await refusedWith(() => kept(wrong, [...ends]))).toBe('envelopeMalformed')
    expect(files()).toEqual(before)
  })

  test('is refused when its declared length is not the one that its head gives', async () => {
    for (const declared of [whole.length - 1, whole.length + 1])
      expect(await refusedWith(() => kept(whole, [], declared))).toBe('envelopeMalformed')
  })
})

test('goes to a file from 64 KiB on', async () => {
  const [below, at] = [await kept(sized(INLINE_BYTES_MAX - 1)), await kept(sized(INLINE_BYTES_MAX))]
  expect([below.file, at.content]).toEqual([undefined, undefined])
  expect([below.content?.length, typeof at.file]).toEqual([INLINE_BYTES_MAX - 1, 'string'])
})

test('what is no envelope is refused, also one that ends within its head', async () => {
  for (const bytes of [random(300), new Uint8Array(0), sized(5000).subarray(0, 700)])
    expect(await refusedWith(() => kept(bytes))).toBe('envelopeMalformed')
})
