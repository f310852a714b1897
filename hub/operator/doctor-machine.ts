/** The doctor on what surrounds a hub: the runtime, room on the disk, the clock, and how others reach it. */
import { createRequire } from 'node:module'
import * as z from 'zod'
import { installedEngine } from '../../protocol/crypto/signature-engine.ts'
import { connectionFault, tlsFault } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { isLocal } from '../bind.ts'
import type { Config } from '../config.ts'
import { freeBytes } from '../files.ts'
import { type LastStart, startAgain } from './last-start.ts'
import type { RunningState } from './order-shapes.ts'

const RUNTIME_NEEDED = [24, 15] as const
export const MIB = 1024 * 1024
export const ROOM_NEEDED_BYTES = 64 * MIB
export const ROOM_WISHED_BYTES = 1024 * MIB
/** Requests whose time differs by more are refused, so a clock that is off by more shuts agents out. */
const CLOCK_OFF_MS = 300_000
const CLOCK_BACK_MS = 2000
const FETCH_MS = 5000
const MS_PER_SECOND = 1000

const identityShape = z.object({ aid: z.string() })
const healthShape = z.object({ status: z.literal('ok'), version: z.string() })

export function checkRuntime(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor, neededMinor] = RUNTIME_NEEDED
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor))
    return ok('runtime', `Node ${version}`)
  return wrong('runtime', `Node ${version} is too old`, `install Node ${RUNTIME_NEEDED.join('.')} or newer`)
}

export async function checkRoom(
  { dataDir, database }: Pick<Config, 'dataDir' | 'database'>,
  running: RunningState | undefined,
): Promise<Finding> {
  const free = await freeBytes(dataDir)
  const found = `${Math.floor(free / MIB)} MiB free`
  const wished = `have ${ROOM_WISHED_BYTES / MIB} MiB free on the file system of the data directory`
  if (running?.broken === true)
    return wrong('disk', 'the store failed', 'check the disk, then restart the hub')
  if (running?.locked === true)
    return wrong(
      'disk',
      'another program has locked the store, and nothing can be written',
      'end what has hub.db open, such as a copying program or the sqlite3 shell',
    )
  if (running?.away === true)
    return wrong(
      'disk',
      'the database of the store is away, and mail is refused',
      'look whether its server runs, and what it logs of this role',
    )
  if (running?.full === true && database !== undefined)
    return wrong(
      'disk',
      'mail is refused: the database or the place of long mail has no room',
      'free some room on the disk of the database, or where long mail lies',
    )
  if (running?.full === true || free < ROOM_NEEDED_BYTES)
    return wrong(
      'disk',
      `${found}, and ${ROOM_NEEDED_BYTES / MIB} MiB are needed: mail is refused or soon will be`,
      wished,
    )
  return free < ROOM_WISHED_BYTES ? note('disk', found, wished) : ok('disk', found)
}

/** Which engine checks signatures, of the running hub or, where none runs, of the next one. */
export function checkSignatures(running: RunningState | undefined): Finding {
  const engine = running === undefined ? installedEngine(createRequire(import.meta.url)) : running.signatures
  if (engine === undefined)
    return wrong('signatures', 'the thread that checks them failed', 'see the log, then restart the hub')
  const reason = engine.why === undefined ? '' : `; ${engine.why}`
  return ok('signatures', `are checked by ${engine.name}${reason}`)
}

const MEND_CLOCK = 'set the clock: timedatectl set-ntp true'

/** The newest time that the hub itself wrote, or knew while it ran, can't lie ahead, unless the clock went back. */
export function checkClock(storedMs: number | undefined, nowMs: number, running?: RunningState): Finding {
  const aheadMs = Math.max((storedMs ?? 0) - nowMs, running?.clockBehindMs ?? 0)
  if (aheadMs <= CLOCK_BACK_MS) return ok('clock', 'is not behind the store')
  const found = `is ${Math.ceil(aheadMs / MS_PER_SECOND)} s behind the latest time that the hub knew; signed requests are refused until it has caught up (docs/host/problems.md has the way out where it is right now and ran ahead before)`
  return wrong('clock', found, MEND_CLOCK)
}

/** What else the doctor found of the hub. */
type Known = { aid: string | undefined; clockBehind: boolean; last: LastStart | undefined }

/** The addresses of a hub, and whether it is this hub that answers there. */
export async function checkNetwork(
  config: Config,
  running: RunningState | undefined,
  { aid, clockBehind, last }: Known,
): Promise<Finding[]> {
  const own = { ...config, baseUrl: baseUrlOf(config, running) ?? last?.base_url }
  const findings = [checkListen(own, running), await checkBaseUrl(own, running, { aid, last })]
  if (running !== undefined) findings.push(await checkAnswer('listener', running.url, aid))
  if (running?.besideUrl !== undefined)
    findings.push(await checkAnswer('second listener', running.besideUrl, aid))
  findings.push(await checkOperator(config, running, clockBehind))
  findings.push(...(await checkPage(config, running)))
  return findings
}

/** The address that others use: as the hub that runs was told, however that was, else as the configuration has it. */
function baseUrlOf({ baseUrl }: Config, running: RunningState | undefined): string | undefined {
  return running !== undefined && running.baseUrl !== running.url ? running.baseUrl : baseUrl
}

/** Addresses given to the doctor as flags, by the name of the flag. */
export type GivenAddresses = Partial<Record<'listen' | 'base-url' | 'operator-listen', string | undefined>>

/** Flags that say something else than a hub that runs was told. */
export function checkGiven(given: GivenAddresses, running: RunningState): Finding[] {
  const served: Required<GivenAddresses> = {
    listen: new URL(running.url).host,
    'base-url': running.baseUrl,
    'operator-listen': running.operatorUrl && new URL(running.operatorUrl).host,
  }
  return Object.entries(served).flatMap(([flag, is]) => {
    const wanted = given[flag as keyof GivenAddresses]
    if (wanted === undefined || wanted.replace(/\/+$/, '') === is) return []
    const found = `--${flag} ${wanted} was not looked at, because the hub runs with ${is ?? 'none'}`
    return [note('flags', found, 'leave the flag out, or restart the hub with it')]
  })
}

/** Where the hub listens; one that runs may have been started with another address than the configuration's. */
function checkListen({ listen, baseUrl }: Config, running: RunningState | undefined): Finding {
  const { host, shown } = running === undefined ? configured(listen) : served(running)
  if (isLocal(host)) return ok('listen address', shown)
  const mend = 'put a TLS proxy in front and listen on 127.0.0.1:8088 (deploy/Caddyfile)'
  return note(
    'listen address',
    `${shown} can be reached from other machines${baseUrl?.startsWith('https:') ? '' : ' without TLS'}`,
    mend,
  )
}

const configured = ({ host, port }: Config['listen']) => ({ host, shown: `${host}:${port}` })

function served({ url }: RunningState): { host: string; shown: string } {
  const { hostname, host } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), shown: host }
}

async function checkBaseUrl(
  { baseUrl, ...config }: Config,
  running: RunningState | undefined,
  { aid, last }: Pick<Known, 'aid' | 'last'>,
): Promise<Finding> {
  if (baseUrl === undefined)
    return note(
      'base_url',
      'is not set, so links use the listen address',
      'set base_url to the URL that others use',
    )
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === 'http:' && !isLocal(hostname.replace(/^\[|\]$/g, '')))
    return wrong('base_url', `${baseUrl} does not use TLS`, 'set base_url to an https address')
  if (running === undefined)
    return note('base_url', `${baseUrl} was not checked, because no hub is running`, startAgain(config, last))
  return await checkAnswer('base_url', baseUrl, aid)
}

/** Asks an address who it is and what time it has. */
async function checkAnswer(check: string, url: string, aid: string | undefined): Promise<Finding> {
  const mend = 'check the proxy, the name and the port; svc-hub serve prints where the hub listens'
  try {
    const health = await ask(`${url}/healthz`)
    if (!healthShape.safeParse(health.body).success)
      return wrong(check, `${url}/healthz does not answer like a hub`, mend)
    const { body } = await ask(`${url}/hub/identity`)
    const there = identityShape.safeParse(body).data?.aid
    if (there === undefined)
      return wrong(check, `${url} answers, and cannot say which hub it is`, 'see the log of the hub')
    // The doctor may not have been able to read which hub this is.
    if (aid !== undefined && there !== aid)
      return wrong(check, `at ${url} another hub answers: ${there}`, mend)
    const offMs = Math.abs(health.dateMs - systemNow())
    if (offMs > CLOCK_OFF_MS)
      return wrong(check, `the clock behind ${url} is ${Math.round(offMs / MS_PER_SECOND)} s off`, MEND_CLOCK)
    return ok(check, `${url} is this hub`)
  } catch (error) {
    return unanswered(check, url, error, mend)
  }
}

const MEND_TLS = 'mend the certificate of the proxy in front; its log says what is wrong'

/** What answers under a certificate that is not good is there. */
function unanswered(check: string, url: string, error: unknown, mend: string): Finding {
  const fault = tlsFault(error)
  if (fault !== undefined) return wrong(check, `there is no secure connection to ${url}: ${fault}`, MEND_TLS)
  return wrong(check, `${url} does not answer: ${connectionFault(error)}`, mend)
}

async function ask(url: string): Promise<{ body: unknown; dateMs: number }> {
  const response = await fetch(url, { redirect: 'manual', signal: systemTimers.deadline(FETCH_MS) })
  const text = await response.text()
  const date = response.headers.get('Date')
  return { body: json(text), dateMs: date === null ? systemNow() : Date.parse(date) }
}

function json(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

async function checkOperator(
  config: Config,
  running: RunningState | undefined,
  clockBehind: boolean,
): Promise<Finding> {
  const { operatorListen } = config
  const check = 'operator listener'
  if (operatorListen !== undefined && !isLocal(operatorListen.host)) {
    const shown = `${operatorListen.host}:${operatorListen.port}`
    return note(
      check,
      `${shown} shows the metrics to other machines`,
      'set operator_listen to 127.0.0.1:8079',
    )
  }
  const url = running?.operatorUrl
  if (url === undefined) {
    if (running === undefined || operatorListen === undefined)
      return ok(check, operatorListen === undefined ? 'is off' : 'opens with the hub')
    return note(check, 'is configured, but the running hub has none', 'restart the hub')
  }
  try {
    const response = await fetch(`${url}/readyz`, { signal: systemTimers.deadline(FETCH_MS) })
    const text = (await response.text()).trim()
    if (response.ok) return ok(check, `${url} says ${text}`)
    const [why = text, next] = text.split('; ')
    const found = `${url}/readyz says: ${why}`
    if (clockBehind) return note(check, found, 'set the clock first, as said above')
    return running?.away === true
      ? note(check, found, 'bring the database back first, as said above; the hub goes on by itself')
      : wrong(check, found, next ?? 'restart the hub; its log says why')
  } catch (error) {
    return unanswered(check, url, error, 'restart the hub')
  }
}

/** The page of the operator, where one is configured or open. */
async function checkPage({ admin }: Config, running: RunningState | undefined): Promise<Finding[]> {
  const check = 'operator page'
  const url = running?.adminUrl
  if (url === undefined) {
    if (admin === undefined) return []
    const found = running === undefined ? 'opens with the hub' : 'is configured, but the running hub has none'
    return [running === undefined ? ok(check, found) : note(check, found, 'restart the hub')]
  }
  if (!isLocal(new URL(url).hostname))
    return [note(check, `${url} can be reached from other machines`, 'set admin_listen to 127.0.0.1:8078')]
  try {
    const response = await fetch(`${url}/healthz`, { signal: systemTimers.deadline(FETCH_MS) })
    await response.body?.cancel()
    return [
      response.ok
        ? ok(check, `answers at ${url}`)
        : wrong(check, `${url}/healthz answers ${response.status}`, 'restart the hub'),
    ]
  } catch (error) {
    return [unanswered(check, url, error, 'restart the hub')]
  }
}
