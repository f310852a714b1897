/** What `svc-hub serve` does: a hub from its start, which it announces, to its orderly end. */
import { buildInfo } from '../../protocol/build-info.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { adminFrom } from '../admin-config.ts'
import { isLocal } from '../bind.ts'
import type { Config } from '../config.ts'
import type { AdmissionMode } from '../core/membership/admission.ts'
import { openness } from '../directory-access.ts'
import { secretOpenness } from '../files.ts'
import { keepMemorySmall } from '../lean-memory.ts'
import { makeLog, toStderr } from '../log.ts'
import { unitOf } from '../operator/last-start.ts'
import { serviceManager } from '../operator/service-manager.ts'
import { flagOpenness, secretFilesOf } from '../places-config.ts'
import { type RunningHub, startHub } from '../serve.ts'
import { asCalled, EXIT_FAILED, keepPrivate } from '../terminal.ts'
import { behindCommands, placed } from './commands.ts'
import { ended, takeEndings } from './signals.ts'

type Announced = Pick<
  RunningHub,
  'url' | 'baseUrl' | 'aid' | 'created' | 'admission' | 'operatorUrl' | 'adminUrl' | 'wire1'
>
/** What a start may make: nothing, or a hub at which these may register. */
type FirstStart = { existing: boolean; admission?: AdmissionMode | undefined }

export async function serve(config: Config, first: FirstStart): Promise<number> {
  keepPrivate()
  let started: RunningHub | undefined
  keepMemorySmall(systemTimers, () => started?.hub.agents.freeMemory())
  const log = makeLog(toStderr, systemNow)
  const admin = adminFrom(config, process.env)
  const broken = Promise.withResolvers<Awaited<typeof ended>>()
  const onBroken = () => broken.resolve({ code: EXIT_FAILED, why: 'the store failed' })
  const running = await behindCommands(config, () =>
    startHub({ config, log, onBroken, unit: unitOf(process.env), admin, ...first }),
  )
  started = running
  // A terminal sends its signal to a launcher and to the hub: the second one changes nothing, the end has a limit.
  takeEndings()
  process.stdout.write(`${asCalled(announcement(config, running, first.admission).join('\n'))}\n`)
  const { url, aid } = running
  const manager = serviceManager({
    env: process.env,
    timers: systemTimers,
    work: () =>
      running.hub.context.store.putSetting('sign of life', String(systemNow())).catch(() => undefined),
    onFault: why => log.warn('the service manager was not told', { why }),
  })
  await manager.ready(`serves at ${running.url}`)
  log.info('started', {
    version: buildInfo.version,
    wire: config.wires[0],
    url,
    aid,
    data_dir: config.dataDir,
  })
  const { code, why } = await Promise.race([ended, broken.promise])
  log.info('stopping', { why })
  await manager.stopping()
  // Also over a broken store: what is under way gets its refusal, then a supervisor may start anew.
  await running.close()
  log.info('stopped', { code })
  return code
}

const UNSEALED =
  'wire 1 seals nothing: this hub can read the mail that goes over it, and anybody may send it; put a proxy in front that limits requests'

const placeOf = ({ url, baseUrl }: Pick<RunningHub, 'url' | 'baseUrl'>): string =>
  baseUrl === url ? `at ${url}` : `at ${url} as ${baseUrl}`

/** What a start says: where the hub is, whose it is, what is worth knowing, and what comes next. */
export function announcement(config: Config, running: Announced, asked?: AdmissionMode): string[] {
  const { aid, created, admission, operatorUrl, adminUrl, wire1 } = running
  const lines = [
    `svc-hub ${buildInfo.version} serves wire ${config.wires.join(' and ')} ${placeOf(running)}`,
    ...(wire1 === undefined ? [] : [`wire 1 ${placeOf(wire1)}`]),
    `hub AID ${aid}`,
    `data in ${config.dataDir}`,
  ]
  if (operatorUrl !== undefined) lines.push(`metrics and health at ${operatorUrl}`)
  if (config.guests === true) lines.push(`guests write to agents at ${(wire1 ?? running).baseUrl}/guest`)
  if (adminUrl !== undefined) lines.push(`page of the operator at ${adminUrl}`)
  if (config.docs !== undefined) lines.push(`documents at ${running.baseUrl}/docs/`)
  if (created)
    lines.push(
      `this is a new hub: ${config.dataDir} held none, so a new identity was made`,
      // over wire 1 the operator lets each agent in
      admission === 'open' && config.wires[0] !== 1
        ? `admission is open: everybody who reaches this address can register; end that with: ${placed('svc-hub admission closed', config)}`
        : `admission is closed; let an agent register with: ${placed('svc-hub admit <AID>', config)}`,
    )
  else if (asked !== undefined && asked !== admission)
    lines.push(
      `admission stays ${admission}, since --admission is for a new hub; change it with: ${placed(`svc-hub admission ${asked}`, config)}`,
    )
  return [...lines, ...warnings(config, wire1 !== undefined || config.wires[0] === 1)]
}

/** What an operator should know who did not mean it. */
function warnings({ dataDir, database, listen, operatorListen }: Config, isUnsealed: boolean): string[] {
  const open = openness(dataDir)
  const lines = open === undefined ? [] : [open]
  for (const path of database === undefined ? [] : secretFilesOf(database)) {
    const readable = secretOpenness(path)
    if (readable !== undefined) lines.push(`${readable.found}; close it with: ${readable.next}`)
  }
  const shown = database && flagOpenness(database)
  if (shown !== undefined) lines.push(`${shown.found}; ${shown.next}`)
  if (isUnsealed) lines.push(UNSEALED)
  if (!isLocal(listen.host))
    lines.push('this address can be reached from other machines; put TLS in front of it')
  if (operatorListen !== undefined && !isLocal(operatorListen.host))
    lines.push('the metrics can be reached from other machines; set operator_listen to 127.0.0.1:8079')
  return lines
}
