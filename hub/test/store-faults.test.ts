// project: programs

/** A store that another program holds, or whose file is taken away or damaged while the hub runs. */
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { orderRunningHub } from '../operator/socket.ts'
import { openWriter } from '../store/sqlite/database.ts'
import { TestAgent } from '../testing/hub.ts'
import { sealedUnderCapability, sendEnvelope } from '../testing/mail.ts'
import { type HubChild, runHub, startHubChild } from '../testing/process.ts'

const folders: string[] = []
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

/** A hub with one agent, as a process, and what its operator's listener says. */
async function serving() {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-store-'))
  folders.push(directory)
  const port = await freePort()
  const args = ['--operator-listen', `127.0.0.1:${port}`]
  // what it logs is expected here
  const hub = await startHubChild(directory, { args, env: {} })
  const agent = new TestAgent(hub)
  await orderRunningHub(directory, { command: 'admit', aid: agent.aid })
  expect((await agent.register()).status).toBe(200)
  const asked = async (path: string) => {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: reply.status, text: await reply.text() }
  }
  const sent = () => sendEnvelope(hub, sealedUnderCapability(agent, agent.capability()))
  return { directory, hub, agent, asked, sent, file: join(directory, 'hub.db') }
}

async function endsByItself(hub: HubChild, why: RegExp): Promise<void> {
  expect(await hub.exited).toEqual({ code: 1, signal: null })
  expect(hub.said()).toMatch(why)
  expect(hub.said()).toContain('the store failed; no more writes')
}

test('while another program holds the store, sends wait and are refused as 503, and the operator is told', async () => {
  const { directory, hub, asked, sent, file } = await serving()
  const other = openWriter(file)
  other.exec('BEGIN IMMEDIATE')
  const reply = await sent()
  expect([reply.status, reply.json['reason']]).toEqual([503, 'unavailable'])
  expect(await asked('/readyz')).toEqual({ status: 503, text: 'another program has locked the store\n' })
  expect((await asked('/metrics')).text).toContain('svc_hub_store_locked 1\n')
  const doctor = await runHub(['doctor', '--data-dir', directory])
  expect(doctor.stdout).toMatch(/WRONG disk: another program has locked the store/)
  other.exec('ROLLBACK')
  other.close()
  expect((await sent()).json['status']).toBe('queued')
  expect((await asked('/readyz')).status).toBe(200)
  expect((await asked('/metrics')).text).toContain('svc_hub_store_locked 0\n')
  expect(hub.said().match(/another program has locked the store; sends are refused/g)).toHaveLength(1)
  expect(hub.said()).toContain('the store can be written again')
  expect(hub.said()).not.toContain('request failed')
  hub.kill('SIGTERM')
  expect((await hub.exited).code).toBe(0)
})

test('a store that is taken away or replaced ends the hub, before it takes what would be gone', async () => {
  const { hub, file } = await serving()
  renameSync(file, `${file}.away`)
  await endsByItself(hub, /hub\.db was removed or replaced while the hub ran/)
  const again = await serving()
  const copy = readFileSync(again.file)
  rmSync(again.file)
  writeFileSync(again.file, copy)
  await endsByItself(again.hub, /hub\.db was removed or replaced while the hub ran/)
})

test('a hub whose lock is taken away ends, before a second one could open its directory', async () => {
  const { hub, directory } = await serving()
  rmSync(join(directory, 'lock'))
  await endsByItself(hub, /lock was removed or replaced while the hub ran/)
})

test('a store that was cut ends the hub as soon as that is seen', async () => {
  const { hub, agent, sent, file } = await serving()
  // the log beside the file goes into it with a checkpoint
  const other = openWriter(file)
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  expect(statSync(file).size).toBeGreaterThan(8192)
  truncateSync(file, 8192)
  let isOver = false
  void hub.exited.then(() => {
    isOver = true
  })
  while (!isOver) {
    const reply = await sent().catch(() => undefined)
    if (reply !== undefined && reply.status !== 200) expect(reply.status).toBe(503)
    await agent.call('relayPoll', { limit: 1 }).catch(() => undefined)
  }
  await endsByItself(hub, /malformed|no such table/)
})
