/**
 * Of systemd what the pages for operators ask for, on a machine that has none: starts the command of a unit as its user, in
 * its environment, waits for its word, starts it again after a failure, and keeps what it prints.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const FOLDERS = ['/etc/systemd/system', '/lib/systemd/system']
const START_MS = 60_000
const LOOK_MS = 50
const MS_PER_SECOND = 1000
const ANYBODY = 0o666

const [, self = '', verb = '', ...words] = process.argv
const stateOf = (unit: string, name = '') => `/run/units/${unit}/${name}`

/** The settings of a unit and of what was put beside it. */
function read(unit: string): { all: (name: string) => string[]; one: (name: string) => string } {
  const [name = '', instance = ''] = unit.split(/(?<=@)/)
  const folder = FOLDERS.find(place => existsSync(`${place}/${name}.service`))
  if (folder === undefined) throw new Error(`Unit ${unit}.service not found.`)
  const beside = FOLDERS.map(place => `${place}/${name}.service.d`).filter(place => existsSync(place))
  const more = beside.flatMap(place => readdirSync(place).map(file => `${place}/${file}`))
  const text = [`${folder}/${name}.service`, ...more].map(path => readFileSync(path, 'utf8')).join('\n')
  const all = (setting: string) =>
    [...text.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) =>
      value.replaceAll('%i', instance),
    )
  return { all, one: setting => all(setting).at(-1) ?? '' }
}

/** Assignments, one a line. */
const assigned = (text: string): [string, string][] =>
  [...text.matchAll(/^(\w+)=(['"]?)(.*)\2$/gm)].map(([, name = '', , value = '']) => [name, value])

function environmentOf({ all, one }: ReturnType<typeof read>, unit: string): Record<string, string> {
  const files = all('EnvironmentFile')
    .map(path => path.replace(/^-/, ''))
    .filter(path => existsSync(path))
  const home = spawnSync('getent', ['passwd', one('User')], { encoding: 'utf8' }).stdout.split(':')[5]
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin',
    HOME: home ?? '/',
    ...Object.fromEntries(assigned(all('Environment').join('\n'))),
    ...Object.fromEntries(files.flatMap(path => assigned(readFileSync(path, 'utf8')))),
    ...(one('NotifyAccess') === 'all' ? { NOTIFY_SOCKET: stateOf(unit, 'word') } : {}),
  }
}

const idOf = (flag: string, user: string): number =>
  Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout)

/** What it says of itself goes to a file, which its user may write. */
function hear(unit: string): void {
  writeFileSync(stateOf(unit, 'word'), '')
  chmodSync(stateOf(unit, 'word'), ANYBODY)
}

async function supervise(unit: string): Promise<void> {
  const settings = read(unit)
  const [program = '', ...args] = settings.one('ExecStart').split(' ')
  const final = settings.one('RestartPreventExitStatus').split(' ').map(Number)
  const user = settings.one('User')
  let isStopping = false
  process.umask(Number.parseInt(settings.one('UMask') || '022', 8))
  for (;;) {
    hear(unit)
    const child = spawn(program, args, {
      stdio: 'inherit',
      env: environmentOf(settings, unit),
      uid: idOf('-u', user),
      gid: idOf('-g', user),
      cwd: '/',
    })
    writeFileSync(stateOf(unit, 'pid'), String(child.pid))
    process.removeAllListeners('SIGTERM').on('SIGTERM', () => {
      isStopping = true
      child.kill('SIGTERM')
    })
    const code = await new Promise<number | null>(resolve => child.once('exit', resolve))
    if (isStopping || code === 0 || final.includes(code ?? -1)) break
    if (settings.one('Restart') !== 'on-failure') break
    await pause(Number(settings.one('RestartSec')) * MS_PER_SECOND)
  }
  rmSync(stateOf(unit), { recursive: true })
}

const isThere = (unit: string) => existsSync(stateOf(unit))

async function start(unit: string): Promise<void> {
  if (isThere(unit)) return
  const tells = read(unit).one('NotifyAccess') === 'all'
  mkdirSync(stateOf(unit), { recursive: true })
  hear(unit)
  const log = openSync(`/var/log/${unit}.log`, 'a')
  const child = spawn(process.execPath, [self, 'supervise', unit], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  child.unref()
  writeFileSync(stateOf(unit, 'supervisor'), String(child.pid))
  const isReady = () => !tells || /READY=1/.test(readFileSync(stateOf(unit, 'word'), 'utf8'))
  for (let waited = 0; isThere(unit) && waited < START_MS; waited += LOOK_MS) {
    if (isReady()) return
    await pause(LOOK_MS)
  }
  throw new Error(`Job for ${unit}.service failed.`)
}

async function stop(unit: string): Promise<void> {
  if (!isThere(unit)) return
  process.kill(Number(readFileSync(stateOf(unit, 'supervisor'), 'utf8')), 'SIGTERM')
  while (isThere(unit)) await pause(LOOK_MS)
}

function reload(unit: string): void {
  const [program = '', ...args] = read(unit).one('ExecReload').split(' ')
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { HOME: '/' } })
  if (status !== 0) throw new Error(stderr)
}

const units = words.filter(word => !word.startsWith('-'))
const isNow = words.includes('--now')
const verbs: Record<string, () => Promise<unknown> | unknown> = {
  supervise: () => supervise(units[0] ?? ''),
  'daemon-reload': () => undefined,
  enable: () => isNow && Promise.all(units.map(start)),
  disable: () => isNow && Promise.all(units.map(stop)),
  start: () => Promise.all(units.map(start)),
  stop: () => Promise.all(units.map(stop)),
  restart: () => Promise.all(units.map(unit => stop(unit).then(() => start(unit)))),
  reload: () => units.forEach(reload),
}
await verbs[verb]?.()
