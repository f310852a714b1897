/** The proxy that is shipped, run for real in front of a hub that is down: its log tells nothing of a request. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const shipped = readFileSync(new URL('../deploy/Caddyfile', import.meta.url), 'utf8')
const hasCaddy = spawnSync('caddy', ['version']).status === 0
const AID = 'AWsi2Pqf59Kzi3iYZVthg8j0vdQ2GBhgkrg_hcEG5Mkg'
const ACCESS = 'oQEAsecretaccessrecord'
const ADDRESS = '203.0.113.77'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise(done => server.close(done))
  return port
}

/** All that Caddy writes while one request meets a hub that is down; the name is a loopback address without TLS. */
async function logOf(caddyfile: string): Promise<{ status: number; log: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-caddy-'))
  const [front, back] = [await freePort(), await freePort()]
  const local = caddyfile
    .replace(/^hub\.example \{/m, `http://127.0.0.1:${front} {`)
    .replace('127.0.0.1:8088', `127.0.0.1:${back}`)
    .replace(/^\{/m, '{\n\tadmin off\n\tauto_https off')
  writeFileSync(join(folder, 'Caddyfile'), local)
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (log += String(part)))
  const headers = { 'X-Svc-AID': AID, 'X-Svc-Access': ACCESS, 'X-Forwarded-For': ADDRESS }
  const ask = () => fetch(`http://127.0.0.1:${front}/relay/send`, { method: 'POST', headers, body: 'x' })
  await expect.poll(() => ask().then(Boolean, () => false), { timeout: 10_000 }).toBe(true)
  const { status } = await ask()
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
  return { status, log }
}

test.runIf(hasCaddy)(
  'Caddy in front of a hub that is down logs neither AID nor credential nor address',
  async () => {
    const { status, log } = await logOf(shipped)
    expect(status).toBe(502)
    expect(log).toMatch(/serving initial configuration/)
    for (const secret of [AID, ACCESS, ADDRESS, '/relay/send']) expect(log).not.toContain(secret)
    // The same without the setting, so that this test could see it.
    expect((await logOf(shipped.replace(/^\s*exclude .*$/m, ''))).log).toContain(ACCESS)
  },
)

test.runIf(hasCaddy)('Caddy takes the block over several processes as the page shows it', () => {
  const page = readFileSync(new URL('../../docs/host/many-processes.md', import.meta.url), 'utf8')
  const block = /^reverse_proxy [^`]*/m.exec(page)?.[0] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'svc-caddy-'))
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, `${shipped.slice(0, shipped.indexOf('\treverse_proxy'))}${block}}\n`)
  const { status, stderr } = spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', file], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder },
  })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
  rmSync(folder, { recursive: true, force: true })
})
