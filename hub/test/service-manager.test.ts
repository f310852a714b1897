// project: programs

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
/** What a service manager hears of the built hub, through a socket as systemd has one. */
import { systemTimers } from '../../protocol/timers.ts'
import { serviceManager } from '../operator/service-manager.ts'
import { startHubChild } from '../testing/process.ts'

const WATCHDOG_MICROSECONDS = 300_000
const WITHIN_MS = 60_000
const hasNotify = spawnSync('systemd-notify', ['--version']).status === 0
const folder = mkdtempSync(join(tmpdir(), 'svc-hub-notify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Prints what arrives, one assignment a line. */
const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("listening", flush=True)
while True:
    print(s.recv(4096).decode(), flush=True)
`

test.runIf(hasNotify)('it serves, it works, it stops', async () => {
  const path = join(folder, 'notify')
  const listener = spawn('python3', ['-c', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const heard: string[] = []
  const lines = createInterface({ input: listener.stdout })
  lines.on('line', line => heard.push(line))
  await once(lines, 'line')
  const hub = await startHubChild(join(folder, 'data'), {
    env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: String(WATCHDOG_MICROSECONDS) },
  })
  try {
    const signs = () => heard.filter(line => line === 'WATCHDOG=1').length
    await expect.poll(signs, { timeout: WITHIN_MS }).toBeGreaterThan(1)
    expect(heard).toContain('READY=1')
    expect(heard).toContain(`STATUS=serves at ${hub.url}`)
    expect(heard).not.toContain('STOPPING=1')
  } finally {
    hub.kill('SIGTERM')
  }
  expect(await hub.exited).toEqual({ code: 0, signal: null })
  await expect.poll(() => heard, { timeout: WITHIN_MS }).toContain('STOPPING=1')
  listener.kill()
})

test('without a manager nothing is said; one that cannot be told is no reason to end', async () => {
  const faults: string[] = []
  const manager = (env: Record<string, string>) =>
    serviceManager({
      env,
      timers: systemTimers,
      work: async () => undefined,
      onFault: why => faults.push(why),
    })
  await manager({}).ready('serves')
  await manager({}).stopping()
  expect(faults).toEqual([])
  const { PATH } = process.env
  process.env['PATH'] = folder
  await manager({ NOTIFY_SOCKET: join(folder, 'none') }).ready('serves')
  process.env['PATH'] = PATH
  expect(faults).toEqual([expect.stringContaining('systemd-notify')])
})

test.runIf(hasNotify)('a hub whose work hangs gives no sign of life', async () => {
  const faults: string[] = []
  const hung = Promise.withResolvers<void>()
  let asked = 0
  const work = () => {
    asked += 1
    return hung.promise
  }
  const env = { NOTIFY_SOCKET: join(folder, 'nobody'), WATCHDOG_USEC: '3000' }
  const manager = serviceManager({ env, timers: systemTimers, work, onFault: why => faults.push(why) })
  await manager.ready('serves')
  const told = faults.length
  await expect.poll(() => asked).toBe(1)
  await new Promise(resolve => setTimeout(resolve, 50))
  // Each word would have failed: nobody listens there.
  expect([asked, faults.length]).toEqual([1, told])
  await manager.stopping()
  hung.resolve()
})
