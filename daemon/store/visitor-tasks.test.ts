import { expect, test } from 'vitest'
import { openStoreAt, type Store } from './open.ts'
import { upgrades } from './upgrades.ts'

const HUB = 'aid-of-hub'

/** A received task that ended with a receipt of this node, and its last message at the hub. */
function ended(store: Store, peer: string): number {
  const { key } = store.run(
    `INSERT INTO interactions (id, delegator, peer, side, state, preview, request_cid, started_at, updated_at,
       deadline_at, receipt, receipt_state, way) VALUES (?1, ?1, ?1, 'received', 'ended', '', '', 1, 1, 1, x'01', 'made', 'open')`,
    peer,
  )
  const message = store.run(
    `INSERT INTO messages (interaction, direction, sender, recipient, message_id, kind, number, at, payload, digest, text, delivery)
     VALUES (?1, 'out', 'me', ?2, CAST(?2 AS BLOB), 1, 1, 1, x'', x'', '', 'at_hub')`,
    key,
    peer,
  )
  store.run(
    `INSERT INTO outbox (message, peer, interaction, state, next_at, handle_secret, deadline_at)
     VALUES (?, ?, ?, 'at_hub', 1, x'', 1)`,
    message.key,
    peer,
    key,
  )
  return key
}

test('a task of a visitor that ended under an earlier build waits for nothing more, one of an agent does', () => {
  const store = openStoreAt(':memory:')
  store.run(
    "INSERT INTO hubs (url, aid, wire, log, bits, role) VALUES ('http://hub', ?, 1, x'', 0, 'home')",
    HUB,
  )
  const [visitor, agent] = [ended(store, HUB), ended(store, 'aid-of-agent')]
  store.database.exec(upgrades.find(step => step.includes('A visitor has no key')) as string)
  const states = (key: number) =>
    store.get(
      `SELECT i.receipt_state, i.reason_by, m.delivery, (SELECT count(*) FROM outbox WHERE interaction = i.key) AS waiting
       FROM interactions AS i JOIN messages AS m ON m.interaction = i.key WHERE i.key = ?`,
      key,
    )
  expect(states(visitor)).toEqual({
    ...{ receipt_state: 'none', reason_by: 'node', delivery: 'delivered', waiting: 0 },
  })
  expect(states(agent)).toEqual({
    ...{ receipt_state: 'made', reason_by: null, delivery: 'at_hub', waiting: 1 },
  })
  store.close()
})
