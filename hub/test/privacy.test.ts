// project: programs

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { agentAccount } from '../core/ledger/names.ts'
import { openReader } from '../store/sqlite/database.ts'
import { random, registeredAgent, startTestHub } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import {
  scanFiles,
  scanJoins,
  scanTables,
  testBothLinesTellNothing,
  testNothingTells,
} from '../testing/privacy-scan.ts'

testNothingTells(150)
testBothLinesTellNothing(150)

test('the scan finds what is there', async () => {
  const hub = await startTestHub()
  const agent = await registeredAgent(hub)
  const canary = random(33)
  await hub.running.hub.context.store.putSetting('canary', `text ${toBase64url(canary)} text`)
  writeFileSync(join(hub.directory, 'tmp', 'canary'), Buffer.concat([random(10), canary, random(10)]))
  expect(scanTables(hub.directory, [canary])).toEqual(['setting.value'])
  expect(scanFiles(hub.directory, [canary], name => !name.startsWith('hub.db'))).toEqual(['tmp/canary'])
  expect(scanTables(hub.directory, [Buffer.from(agent.aid, 'base64url')], ['agent'])).toContain('agent.aid')
  await hub.close()
})

test('the scan for joins finds a payment that names the envelope it was for', async () => {
  const hub = await startTestHub()
  const [agent, other] = [await registeredAgent(hub), await registeredAgent(hub)]
  const envelope = sealedUnderCapability(agent, agent.capability())
  await sendEnvelope(hub, envelope)
  expect(scanJoins(hub.directory)).toEqual([])
  const { store } = hub.running.hub.context
  const digest = (await storedDigests(hub.directory))[0] as Uint8Array
  await store.post({
    id: digest,
    reason: 'payment',
    atMs: hub.clock.now(),
    amount: 1,
    moves: [{ from: agentAccount(other.aid), to: agentAccount(agent.aid), amount: 1 }],
  })
  expect(scanJoins(hub.directory)).toContain('ledger_transfer.id = digest_new.digest')
  await hub.close()
})

async function storedDigests(directory: string): Promise<Uint8Array[]> {
  const db = openReader(join(directory, 'hub.db'))
  const rows = db.all<{ digest: Uint8Array }>('SELECT digest FROM digest_new')
  db.close()
  return rows.map(row => row.digest)
}
