// project: programs
/** Large mail in a bucket of a real S3 server, which now and then fails, is late, or answers by half. */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemTimers } from '../../../protocol/timers.ts'
import { blobContract, blobName, readBlob, writeBlob } from '../../testing/blob-contract.ts'
import { BUCKET, S3_CREDENTIALS, type S3Fault, S3Server } from '../../testing/s3-server.ts'
import { refusedAs } from '../../testing/s3-signature.ts'
import { blobPlaces } from '../blob-port.ts'
import { StoreAway } from '../port.ts'
import { BlobBucket } from './s3.ts'

const MIB = 1024 * 1024
const CALL_MS = 2000

let server: S3Server
let opened = 0
beforeAll(async () => {
  server = await S3Server.start()
})
afterAll(() => server.stop())
afterEach(() => server.fault(undefined))

/** Each has a prefix of its own. */
const open = (credentials = S3_CREDENTIALS) =>
  new BlobBucket(
    {
      ...{ endpoint: server.endpoint, region: 'us-east-1', bucket: BUCKET, prefix: `hub-${opened++}/` },
      ...{ credentials: () => credentials, callMs: CALL_MS, pauseMs: 1 },
    },
    blobPlaces.envelopes,
    { fetch, timers: systemTimers, now: () => Date.now() },
  )
const a = blobName('a')

blobContract('a bucket', () => open())

const ways: S3Fault['way'][] = ['fails', 'silent', 'half', 'lost']
const calls: [what: string, calls: RegExp][] = [
  ['a short blob is written', /^PUT [^?]*$/],
  ['an upload begins', /^POST .*uploads/],
  ['a part is written', /^PUT .*partNumber=2/],
  ['an upload ends', /^POST .*uploadId/],
  ['what was written is checked', /^HEAD/],
  ['a blob is read', /^GET .*\/blobs\/a+$/],
]

test.each(ways.flatMap(way => calls.map(([what, of]) => ({ way, what, of }))))(
  'one call is $way while $what: the blob is whole',
  async ({ way, what, of }) => {
    const blobs = open()
    const bytes = randomBytes(what.includes('short') ? 1000 : 17 * MIB)
    server.fault({ calls: of, times: 1, way })
    await writeBlob(blobs, a, bytes)
    expect((await readBlob(blobs, a))?.equals(bytes)).toBe(true)
  },
)

test.each(ways.flatMap(way => calls.slice(0, 4).map(([what, of]) => ({ way, what, of }))))(
  'each call is $way while $what: it is there, or the store is away, in time',
  async ({ way, what, of }) => {
    server.fault({ calls: of, times: 100, way })
    const startedMs = performance.now()
    const written = writeBlob(open(), a, randomBytes(what.includes('short') ? 1000 : 9 * MIB))
    // what stands there tells that it was done
    const isDone = what === 'an upload ends' && (way === 'lost' || way === 'half')
    if (isDone) await written
    else await expect(written).rejects.toBeInstanceOf(StoreAway)
    expect(performance.now() - startedMs).toBeLessThan(2 * CALL_MS + 5000)
  },
)

test('reading goes on where it was as often as its connection is lost, and gives up a store that is gone', async () => {
  const blobs = open()
  const bytes = randomBytes(3 * MIB)
  await writeBlob(blobs, a, bytes)
  server.fault({ calls: /^GET/, times: 4, way: 'half' })
  expect((await readBlob(blobs, a))?.equals(bytes)).toBe(true)
  server.fault({ calls: /^GET/, times: 100, way: 'half' })
  await expect(readBlob(blobs, a)).rejects.toBeInstanceOf(StoreAway)
})

test('a blob that was replaced while it was read is given to nobody', async () => {
  const blobs = open()
  await writeBlob(blobs, a, randomBytes(3 * MIB))
  server.fault({ calls: /^GET/, times: 1, way: 'half' })
  const reader = await blobs.open(a)
  await reader?.fill(new Uint8Array(10))
  await writeBlob(blobs, a, randomBytes(3 * MIB))
  await expect(reader?.fill(new Uint8Array(3 * MIB))).rejects.toBeInstanceOf(StoreAway)
  await reader?.close()
})

test('a long blob goes there while it comes', async () => {
  const blobs = open()
  const writer = await blobs.create(a)
  const piece = new Uint8Array(MIB)
  for (let n = 0; n < 20; n++) await writer.write(piece)
  expect(server.asked.filter(call => /partNumber=[12]&/.test(call)).length).toBeGreaterThanOrEqual(2)
  await writer.commit()
  expect((await readBlob(blobs, a))?.length).toBe(20 * MIB)
})

test('what can not be removed now is removed by the sweep', async () => {
  const blobs = open()
  await writeBlob(blobs, a, new Uint8Array(1))
  server.fault({ calls: /^DELETE/, times: 100, way: 'fails' })
  await blobs.remove([a])
  server.fault(undefined)
  expect(await blobs.collect(Date.now() + 7_200_000, async names => names)).toBe(1)
  expect(await blobs.open(a)).toBeUndefined()
})

test('calls are signed as the specification shows', () => {
  const call = {
    ...{ method: 'GET', target: '/test.txt', body: new Uint8Array(0) },
    headers: {
      ...{ host: 'examplebucket.s3.amazonaws.com', range: 'bytes=0-9', 'x-amz-date': '20130524T000000Z' },
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    },
  }
  const accessKeyId = 'AKIAIOSFODNN7EXAMPLE'
  const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
  expect(refusedAs(call, { accessKeyId, secretAccessKey })).toBeUndefined()
  expect(refusedAs(call, { accessKeyId, secretAccessKey: 'other' })).toBe('SignatureDoesNotMatch')
})

test('a key that the server does not know, or that is wrong, is refused without being said', async () => {
  for (const wrong of [
    { ...S3_CREDENTIALS, secretAccessKey: 'WRONG' },
    { ...S3_CREDENTIALS, accessKeyId: 'UNKNOWN' },
  ]) {
    const refused = writeBlob(open(wrong), a, new Uint8Array(1))
    await expect(refused).rejects.toBeInstanceOf(StoreAway)
    await expect(refused).rejects.toThrow(/it refused a call \(403 /)
    await expect(refused).rejects.not.toThrow(/WRONG|UNKNOWN|127/)
  }
})
