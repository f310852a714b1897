import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { random, registeredAgent, startTestHub } from '../testing/hub.ts'
import { scanFiles, scanTables, testNothingTells } from '../testing/privacy-scan.ts'

testNothingTells(150)

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
