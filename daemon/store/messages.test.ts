/** Messages as the store keeps them, whatever thread they are in. */
import { expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import {
  digestOf,
  forgetIncomingFiles,
  hasMessages,
  insertIncoming,
  insertOutgoing,
  isFileNamed,
  messageAt,
} from './messages.ts'
import { openStoreAt } from './open.ts'

const file = { name: 'a.txt', mediaType: 'text/plain', size: 1, cid: contentId(Uint8Array.of(1)) }
const outgoing = {
  interaction: null,
  sender: 'Aown',
  recipient: 'Apeer',
  messageId: Uint8Array.of(1),
  kind: kinds.message,
  number: 0,
  at: 1000,
  payload: Uint8Array.of(2),
  digest: Uint8Array.of(3),
  text: 'words',
  auto: 0 as const,
}

test('nothing was ever said until the first message', () => {
  const store = openStoreAt(':memory:')
  expect(hasMessages(store)).toBe(false)
  const key = insertOutgoing(store, outgoing, [])
  expect([hasMessages(store), messageAt(store, key).delivery]).toEqual([true, 'queued'])
  expect(() => messageAt(store, key + 1)).toThrow(/no message with the key/)
  expect(digestOf(store, 'Aown', Uint8Array.of(1))).toEqual(Uint8Array.of(3))
  expect(digestOf(store, 'Apeer', Uint8Array.of(1))).toBeUndefined()
  store.close()
})

test('the files that came with a task are forgotten with it, and are named as long as any message names them', () => {
  const store = openStoreAt(':memory:')
  store.run(
    `INSERT INTO interactions (id, delegator, side, peer, state, preview, request_cid, started_at, updated_at, deadline_at)
     VALUES ('i', 'Apeer', 'received', 'Apeer', 'open', '', '', 0, 0, 0)`,
  )
  const body = {
    from: 'Apeer',
    to: 'Aown',
    messageId: Uint8Array.of(9),
    kind: kinds.message,
    number: 1,
    payload: Uint8Array.of(2),
    attachments: [file],
  }
  insertIncoming(store, 1, body, { digest: Uint8Array.of(4), text: '', at: 1000 })
  const cid = cidText(file.cid)
  expect(isFileNamed(store, cid)).toBe(true)
  insertOutgoing(store, { ...outgoing, interaction: 1 }, [file])
  expect(forgetIncomingFiles(store, 1)).toEqual([cid])
  expect([isFileNamed(store, cid), isFileNamed(store, 'other')]).toEqual([true, false])
  store.close()
})
