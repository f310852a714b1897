import { expect, test } from 'vitest'
import { sha256 } from '#crypto'
import { utf8 } from '../encoding/bytes.ts'
import { agent } from '../testing/agents.ts'
import { checkpointHolds, signedCheckpoint, supplyOrigin } from './checkpoint.ts'

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
