/**
 * Run as a process of its own by the slow test: `seal <file>` writes an envelope with a 90 MiB attachment, `open <file>`
 * reads it. Prints by how many bytes the process grew and how many attachment bytes went through.
 */
import { createHash } from 'node:crypto'
import { createReadStream, writeSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { contentIdOfDigest } from '../crypto/hash.ts'
import { latestExpMs } from '../mail/envelope.ts'
import { openEnvelope } from '../mail/open.ts'
import { sealEnvelope } from '../mail/seal.ts'
import { agent, bodyOf, NOW_MS } from './agents.ts'

const PIECE_BYTES = 64 * 1024
const FILE_BYTES = 90 * 1024 * 1024
const SAMPLE_EVERY = 64
const [alice, bob] = [agent('alice'), agent('bob')]
const [, , side = '', path = ''] = process.argv

function* attached(size: number): Generator<Uint8Array> {
  const piece = new Uint8Array(PIECE_BYTES)
  for (let at = 0; at < size; at += PIECE_BYTES) {
    piece[0] = at / PIECE_BYTES
    yield piece
  }
}

async function seal(size: number, sink: (piece: Uint8Array) => Promise<unknown>): Promise<void> {
  const hash = createHash('sha256')
  for (const piece of attached(size)) hash.update(piece)
  const attachment = { name: 'large', mediaType: 'x', size, cid: contentIdOfDigest(hash.digest()) }
  const sealed = await sealEnvelope({
    body: bodyOf(alice, bob, { attachments: [attachment] }),
    identitySeed: alice.identitySeed,
    recipientKey: { kid: bob.kid, publicKey: bob.encryptionKey },
    expMs: latestExpMs(NOW_MS),
    credential: { kind: 0 },
    attachments: [() => attached(size)],
    random: alice.random,
  })
  for await (const piece of sealed.stream()) await sink(piece)
}

async function open(source: AsyncIterable<Uint8Array>, sink: (piece: Uint8Array) => Promise<unknown>) {
  const opened = await openEnvelope({
    source,
    recipient: bob.aid,
    seedOf: () => bob.encryptionSeed,
    senderKey: () => alice.log.publicKey,
  })
  for await (const { chunk } of opened.parts()) await sink(chunk)
}

// A small message first: what the code itself takes is not what a message takes.
const small: Uint8Array[] = []
await seal(PIECE_BYTES, async piece => small.push(piece))
await open(
  (async function* () {
    yield* small
  })(),
  async () => {},
)
const before = process.memoryUsage.rss()
let peak = before
let pieces = 0
let bytes = 0
const count = (piece: Uint8Array) => {
  bytes += piece.length
  if (pieces++ % SAMPLE_EVERY === 0) peak = Math.max(peak, process.memoryUsage.rss())
}
await using file = await openFile(side === 'seal' ? path : '/dev/null', 'w')
if (side === 'seal') {
  await seal(FILE_BYTES, async piece => {
    count(piece)
    await file.write(piece)
  })
} else {
  await open(createReadStream(path), async piece => count(piece))
}
writeSync(1, JSON.stringify({ growth: peak - before, bytes }))
