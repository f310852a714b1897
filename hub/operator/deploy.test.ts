/** The files by which others run a hub: what can be checked of them without an engine that runs them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ENVELOPE_BYTES_MAX } from '../../protocol/contract/limits.ts'
import { readConfig } from '../config.ts'
import { EXIT_CONFIG, EXIT_USAGE } from '../terminal.ts'

const at = (name: string): string => new URL(`../deploy/${name}`, import.meta.url).pathname
const read = (name: string): string => readFileSync(at(name), 'utf8')
const withoutComments = (text: string): string => text.replace(/^\s*#.*$/gm, '')
const unit = withoutComments(read('svc-hub.service'))
const manyUnit = withoutComments(read('svc-hub@.service'))
const backupUnit = withoutComments(read('svc-hub-backup.service'))
const container = withoutComments(read('Containerfile'))
const caddy = withoutComments(read('Caddyfile'))
const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  devDependencies: Record<string, string>
}

/** Exposure that systemd may find at most, in tenths; 9.6 is a unit without any protection. */
const EXPOSURE_TENTHS_MAX = 15

function settings(text: string): Record<string, string> {
  const found = [...text.matchAll(/\b(SVC_HUB_[A-Z_]+)=(\S+)/g)]
  return Object.fromEntries(found.map(([, name, value]) => [name as string, value as string]))
}

test.each([
  ['svc-hub.service', unit],
  ['Containerfile', container],
])('%s names settings that the hub knows, and listens on this machine only', (_, text) => {
  const env = settings(text)
  expect(Object.keys(env).length).toBeGreaterThan(0)
  const config = readConfig({}, env)
  expect(config.dataDir).toBe('/var/lib/svc-hub')
  expect(config.listen).toEqual({ host: '127.0.0.1', port: 8088 })
  expect(['127.0.0.1', undefined]).toContain(config.operatorListen?.host)
})

test.each([
  ['svc-hub.service', unit],
  ['svc-hub@.service', manyUnit],
])('%s starts the hub, starts it again only after a failure, and leaves it time to stop', (_, text) => {
  expect(text).toMatch(/^ExecStart=\S+ svc-hub serve --existing$/m)
  expect(text).toMatch(/^Restart=on-failure$/m)
  expect(text).toMatch(/^Type=notify$/m)
  expect(text).toMatch(/^NotifyAccess=all$/m)
  expect(Number(/^WatchdogSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(10)
  const final = /^RestartPreventExitStatus=(.+)$/m.exec(text)?.[1]?.split(' ').map(Number)
  expect(final).toEqual([EXIT_USAGE, EXIT_CONFIG])
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
  expect(seconds).toBeGreaterThan(10)
})

test('the unit reaches this machine alone, and each page that adds what the hub calls says how to allow more', () => {
  expect(unit).toMatch(/^IPAddressDeny=any$/m)
  expect(unit.match(/^IPAddressAllow=.*$/gm)).toEqual(['IPAddressAllow=localhost'])
  const page = (name: string): string =>
    readFileSync(new URL(`../../docs/host/${name}`, import.meta.url), 'utf8')
  expect(page('configuration.md')).toMatch(/^\[Service\]\n(IPAddressAllow=[0-9a-f.:/]+\n)+```$/m)
  for (const name of ['peers.md', 'wire-1.md', 'witnesses.md'])
    expect(page(name)).toContain('(configuration.md#let-the-hub-reach-other-machines)')
})

test.each([
  ['svc-hub.service', unit, []],
  ['svc-hub-backup.service', backupUnit, ['/var/backups/svc-hub']],
])('%s waits until the disk of the data directory is mounted', (_, text, more) => {
  const mounts = /^RequiresMountsFor=(.+)$/m.exec(text)?.[1]?.split(' ')
  expect(mounts).toEqual([settings(unit)['SVC_HUB_DATA_DIR'], ...more])
})

test('the unit of one process among several is protected as that of a hub alone', () => {
  const protections = (text: string) =>
    text
      .slice(text.indexOf('ProtectSystem='))
      .split('\n')
      .filter(line => line !== '')
  expect(protections(manyUnit)).toEqual(protections(unit))
  const env = settings(manyUnit.replaceAll('%i', '8091'))
  expect(readConfig({}, env)).toMatchObject({
    dataDir: '/var/lib/svc-hub-8091',
    listen: { host: '127.0.0.1', port: 8091 },
  })
})

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0

test.runIf(hasAnalyze)('systemd takes the unit without a word and finds it hardly exposed', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-hub-unit-'))
  const run = (...args: string[]): string =>
    execFileSync('systemd-analyze', args, {
      encoding: 'utf8',
      env: { ...process.env, HOME: home },
      stdio: 'pipe',
    })
  for (const name of [
    'svc-hub.service',
    'svc-hub@.service',
    'svc-hub-backup.service',
    'svc-hub-backup.timer',
  ])
    expect([name, run('verify', at(name))]).toEqual([name, ''])
  expect(
    run('security', '--offline=true', `--threshold=${EXPOSURE_TENTHS_MAX}`, at('svc-hub.service')),
  ).toMatch(/exposure level/)
  rmSync(home, { recursive: true })
})

test('the timer starts a backup of the same hub every night, and keeps some', () => {
  expect(settings(backupUnit)).toEqual({ SVC_HUB_DATA_DIR: settings(unit)['SVC_HUB_DATA_DIR'] })
  expect(backupUnit).toMatch(/^ExecStart=\S+ svc-hub backup \/var\/backups\/svc-hub --keep 14$/m)
  expect(backupUnit).toMatch(/^User=svc-hub$/m)
  expect(read('svc-hub-backup.timer')).toMatch(/^OnCalendar=.*\n(?:.*\n)*Persistent=true$/m)
})

test('the container has the pinned runtime, no root, and starts the hub', () => {
  expect(container).toContain(`FROM docker.io/library/node:${manifest.devDependencies['node']}-slim`)
  const user = container.indexOf('USER node')
  expect(user).toBeGreaterThan(container.indexOf('RUN npm install'))
  expect(container.indexOf('ENTRYPOINT ["svc-hub"]')).toBeGreaterThan(user)
})

test('the proxy lets the largest envelope through, and does not cut a held poll', () => {
  const mib = Number(/max_size (\d+)MiB/.exec(caddy)?.[1])
  expect(mib * 1024 * 1024).toBeGreaterThanOrEqual(ENVELOPE_BYTES_MAX)
  expect(caddy).toContain('reverse_proxy 127.0.0.1:8088')
  expect(caddy).not.toMatch(/_timeout/)
  expect(caddy.slice(caddy.indexOf('hub.example'))).not.toMatch(/^\s*log\b/m)
})
