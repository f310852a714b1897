import { expect, test } from 'vitest'
import { sha256 } from '#crypto'
import { fromHex, toHex, utf8 } from '../encoding/bytes.ts'
import { agent, fixture } from '../testing/agents.ts'
import { checkpointHolds, parseCheckpoint, signedCheckpoint, supplyOrigin } from './checkpoint.ts'

const hub = agent('hub')
const origin = supplyOrigin(hub.aid)
const checkpoint = { size: 7, root: sha256(utf8('tree')) }
const note = signedCheckpoint(hub.identitySeed, origin, checkpoint)
const expected = { origin, key: hub.log.publicKey, checkpoint }

test('a note holds for its origin, size, root and key, also beside lines of others', () => {
  expect(note.split('\n').slice(0, 2)).toEqual([origin, '7'])
  expect(checkpointHolds(note, expected)).toBe(true)
  expect(checkpointHolds(`${note}— witness.example AAAAAAAA\n— x !\n`, expected)).toBe(true)
})

test.each([
  ['another size', { checkpoint: { ...checkpoint, size: 8 } }],
  ['another root', { checkpoint: { ...checkpoint, root: sha256(utf8('other')) } }],
  ['another origin', { origin: supplyOrigin(agent('other').aid) }],
  ['another key', { key: agent('other').log.publicKey }],
])('and for no %s', (_, change) => {
  expect(checkpointHolds(note, { ...expected, ...change })).toBe(false)
})

test('and with no character changed', () => {
  for (let at = 0; at < note.length - 1; at++) {
    const changed = note.slice(0, at) + (note[at] === 'A' ? 'B' : 'A') + note.slice(at + 1)
    expect([at, checkpointHolds(changed, expected)]).toEqual([at, false])
  }
})

const vectors = fixture<{
  seed: string
  publicKey: string
  origin: string
  valid: { reason: string; size: number; root: string; note: string }[]
  invalid: { reason: string; note: string }[]
}>('payment/checkpoints.json')
const held = { origin: vectors.origin, key: fromHex(vectors.publicKey) }

test.each(vectors.valid)('a recorded note holds: $reason', ({ size, root, note: text }) => {
  const tree = { size, root: fromHex(root) }
  expect(checkpointHolds(text, { ...held, checkpoint: tree })).toBe(true)
  const { checkpoint: shown } = parseCheckpoint(text, vectors.origin)
  expect([shown.size, toHex(shown.root)]).toEqual([size, root])
  const made = signedCheckpoint(fromHex(vectors.seed), vectors.origin, tree)
  expect(made.split('\n').every(line => text.split('\n').includes(line))).toBe(true)
})

test.each(vectors.invalid)('a recorded note does not hold: $reason', ({ note: text }) => {
  const [first] = vectors.valid
  const tree = { size: first?.size ?? 0, root: fromHex(first?.root ?? '') }
  expect(checkpointHolds(text, { ...held, checkpoint: tree })).toBe(false)
})
