/**
 * Settings that came in an archive. Whoever made it may have put programs, addresses and doors there that nobody here
 * asked for: they stay off until their owner says so, and are named.
 */
import { join } from 'node:path'
import { type Config, controlHost, LOOPBACK_HOSTS, readConfig, writeConfig } from '../home/config.ts'
import { replaceFile } from '../platform/files.ts'

/** The settings as they came, beside those that are in force. */
export const ARRIVED_FILE = 'config.arrived.json'
const NAMED_MAX = 24

/** What these settings would start, call, pay and listen on, each as a sentence; `pushes`: clients of A2A that are called. */
export function startsOf({ auto_reply, modules, a2a, ...config }: Config, pushes: number): string[] {
  const named = [
    ...(auto_reply === undefined ? [] : [sayAutoReply(auto_reply)]),
    ...(modules?.service ?? []).map(({ id, url }) => `the capability ${id} calls ${url}`),
    ...Object.entries(modules?.shell?.commands ?? {}).map(
      ([name, { argv }]) => `callers run "${argv.join(' ')}" as shell.run@${name}`,
    ),
    ...(modules?.shell?.allow_arbitrary === true ? ['callers run any command (shell.exec)'] : []),
    ...(['cas', 'blackboard', 'org', 'taskboard', 'svclink'] as const).flatMap(name =>
      modules?.[name] === undefined ? [] : [`the module ${name} serves callers`],
    ),
    ...(a2a?.enabled === true ? [`the A2A interface listens on ${a2a.addr ?? 'this machine'}`] : []),
    ...(a2a?.push_hosts ?? []).map(host => `the A2A interface calls ${host}`),
    ...(isOpen(config as Config) ? [`the control interface listens on ${config.control_addr}`] : []),
    ...(config.console_hosts ?? []).map(host => `the console answers as ${host}`),
    ...(config.console_ticket === false ? ['the console opens without a link of its owner'] : []),
    ...(pushes === 0 ? [] : [`the A2A interface calls ${pushes === 1 ? 'a client' : `${pushes} clients`}`]),
    ...(pays(config.spend) ? ['the node pays by rule, without asking'] : []),
  ]
  return named.length <= NAMED_MAX
    ? named
    : [...named.slice(0, NAMED_MAX), `and ${named.length - NAMED_MAX} more, in ${ARRIVED_FILE}`]
}

const pays = (spend: Config['spend']): boolean =>
  spend !== undefined && (spend.auto_max > 0 || spend.agent_max > 0)

const isOpen = (config: Config): boolean => !LOOPBACK_HOSTS.includes(controlHost(config))

function sayAutoReply({ backend, command, agent, api_base }: NonNullable<Config['auto_reply']>): string {
  if (backend === 'openai') return `auto-reply asks a model at ${api_base ?? 'its usual address'}`
  return `auto-reply runs ${agent ?? command ?? 'a program'}`
}

/** Turns off what arrived in a directory, and keeps it beside; what it would have started. */
export function quiet(dir: string, pushes: number): string[] {
  const arrived = readConfig(dir)
  const starts = startsOf(arrived, pushes)
  if (starts.length === 0) return []
  replaceFile(join(dir, ARRIVED_FILE), `${JSON.stringify(arrived, undefined, 2)}\n`)
  writeConfig(dir, {
    ...arrived,
    auto_reply: undefined,
    modules: undefined,
    a2a: undefined,
    console_hosts: undefined,
    console_ticket: arrived.console_ticket === true ? true : undefined,
    spend: undefined,
    control_addr: isOpen(arrived) ? undefined : arrived.control_addr,
  })
  return starts
}
