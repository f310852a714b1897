/** A store with many tasks. */
import { randomBytes } from 'node:crypto'
import { openStore } from '../../daemon/store/open.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const WORDS_OF_ONE = 12

/** Received tasks of the past, written straight into the store of a stopped node. */
export function fillStore(dir: string, own: string, count: number): void {
  const store = openStore(dir)
  try {
    store.transaction(() => {
      for (let i = 0; i < count; i++) insertTask(store, i, own)
    }, 'bench.fill')
  } finally {
    store.close()
  }
}

function insertTask(store: ReturnType<typeof openStore>, i: number, own: string): void {
  const id = randomBytes(16).toString('base64url')
  const peer = `A${randomBytes(33).toString('base64url').slice(1)}`
  const at = 1_780_000_000_000 + i
  const state = ['ended', 'open', 'declined', 'pending'][i % 4] as string
  store.run(
    `INSERT INTO interactions (key, id, delegator, peer, side, state, way, preview, request_cid, started_at, updated_at, deadline_at, numbered, held_to)
     VALUES (?, ?, ?, ?, 'received', ?, 'sealed', ?, 'bafkrei', ?, ?, ?, 0, 1)`,
    i + 1_000,
    id,
    peer,
    peer,
    state,
    `task number ${i}`,
    at,
    at,
    at,
  )
  store.run(
    `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest, text)
     VALUES (?, 'in', ?, ?, ?, 0, 1, ?, ?, ?, ?)`,
    i + 1_000,
    peer,
    own,
    randomBytes(16),
    at,
    new Uint8Array(8),
    randomBytes(32),
    `task number ${i}, please do it: ${ownWords(i)}`,
  )
}

/** Words that stand nowhere else, a hundred and more of them with each first letter in every thousand messages. */
const ownWords = (i: number): string =>
  Array.from(
    { length: WORDS_OF_ONE },
    (_, n) => LETTERS[(i + n * 7) % LETTERS.length] + (i * WORDS_OF_ONE + n).toString(36),
  ).join(' ')
