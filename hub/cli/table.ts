/** The commands of svc-hub and their flags, in one table. */
import { buildInfo } from '../../protocol/build-info.ts'
import { type Config, type ConfigFlags, placeOf, readConfig, usualConfig } from '../config.ts'
import { ConfigRefused } from '../config-refused.ts'
import { type commandNames, print } from '../terminal.ts'
import { archive, listedOrder } from './archiving.ts'
import {
  AMOUNT_EXPECTED,
  admissionOrder,
  agents,
  aidOf,
  clockOrder,
  type Flags,
  grantOrder,
  init,
  isServed,
  modeOf,
  order,
  quotaFlags,
  quotaOrder,
  rangesOrder,
  redemptions,
  UsageError,
} from './commands.ts'
import { invite } from './invites.ts'
import { peers } from './peers.ts'
import { serve } from './serving.ts'
import { returnChain, witness } from './witness.ts'

/** Where help and refusals go. */
export type Terminal = { out: (text: string) => void; err: (text: string) => void }

export type Command = {
  usage: string
  summary: string
  flags: string[]
  /** What a number among its arguments has to be, where it takes one. */
  number?: string
  /** How many arguments beside flags it takes at most. */
  positionals: number
  run(positionals: string[], flags: Flags): Promise<number>
}

const directoryFlags = ['data-dir', 'config', 'json']
const databaseFlags = ['store', 'store-listen', 'store-password-file', 'files']
/** What says which hub an order is for. */
const placeFlags = [...directoryFlags, ...databaseFlags]

export const commands: Readonly<Record<(typeof commandNames)[number], Command>> = {
  serve: {
    usage: 'serve',
    summary: 'run the hub, creating what is missing',
    flags: [
      'data-dir',
      'config',
      'listen',
      'base-url',
      'operator-listen',
      'admin-listen',
      'admin-base',
      'docs',
      ...databaseFlags,
      'wire',
      'wire1-listen',
      'wire1-base-url',
      'guests',
      'wire1-federation',
      'wire1-discovery',
      'admission',
      'existing',
    ],
    positionals: 0,
    run: (_, flags) =>
      serve(configOf(flags), {
        existing: flags['existing'] === true,
        admission: modeOf(flags['admission']),
      }),
  },
  init: {
    usage: 'init',
    summary:
      'create identity and store without serving; who may register is set by admission, and is closed at first',
    flags: [...placeFlags, 'grant'],
    positionals: 0,
    run: (_, flags) => init(configOf(flags), flags['grant']),
  },
  admission: {
    usage: 'admission [open|closed]',
    summary: 'show or set who may register: anyone with proof of work, or only agents you admit',
    flags: placeFlags,
    positionals: 1,
    run: async ([mode], flags) => order(admissionOrder(mode), await configForOrder(flags)),
  },
  admit: {
    usage: 'admit <AID>',
    summary: 'let one agent register',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) => order({ command: 'admit', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  unadmit: {
    usage: 'unadmit <AID>',
    summary: 'take that back; one that is registered stays',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) => order({ command: 'unadmit', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  agents: {
    usage: 'agents [ls | show <AID>]',
    summary: 'list who is registered, admitted, blocked or was refused lately, or show all about one',
    flags: placeFlags,
    positionals: 2,
    run: async ([what, aid], flags) => agents(what, aid, await configForOrder(flags)),
  },
  block: {
    usage: 'block <AID>',
    summary: 'shut one agent out at once, keeping its mail and what it published',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) => order({ command: 'block', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  unblock: {
    usage: 'unblock <AID>',
    summary: 'let a blocked agent in again, as it was',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) => order({ command: 'unblock', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  remove: {
    usage: 'remove <AID>',
    summary: 'take one agent off with its profile, keys and waiting mail, and admit it no longer',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) => order({ command: 'remove', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  archive: {
    usage: 'archive [ls | <AID>]',
    summary: 'take one agent of wire 1 off with all that it has, which is kept, or list those that were',
    flags: [...placeFlags, 'reason'],
    positionals: 1,
    run: async ([aid], flags) => archive(aid, flags, await configForOrder(flags)),
  },
  unarchive: {
    usage: 'unarchive <AID>',
    summary: 'bring an archived agent back, with all that it had',
    flags: placeFlags,
    positionals: 1,
    run: async ([aid], flags) =>
      order({ command: 'unarchive', aid: aidOf(aid) }, await configForOrder(flags)),
  },
  listed: {
    usage: 'listed <AID> [yes | no]',
    summary: 'show or set whether listings name an agent of wire 1',
    flags: placeFlags,
    positionals: 2,
    run: async ([aid, word], flags) => order(listedOrder(aidOf(aid), word), await configForOrder(flags)),
  },
  ranges: {
    usage: 'ranges [ls | refuse <range> | allow <range>]',
    summary: 'show or set the address ranges from which only agents that you admitted register',
    flags: placeFlags,
    positionals: 2,
    run: async ([what, range], flags) => order(rangesOrder(what, range), await configForOrder(flags)),
  },
  quota: {
    usage: 'quota <AID>',
    summary: 'show or change the limits of one mailbox',
    flags: [...placeFlags, ...quotaFlags, 'reset'],
    positionals: 1,
    run: async ([aid], flags) => order(quotaOrder(aidOf(aid), flags), await configForOrder(flags)),
  },
  grant: {
    usage: 'grant <AID> <amount> --reason <TEXT> [--id <ID>]',
    number: AMOUNT_EXPECTED,
    summary:
      'give an agent credits, which your hub then owes it; the reason stays in your log; repeated with the id of a grant, it gives nothing more',
    flags: [...placeFlags, 'reason', 'id'],
    positionals: 2,
    run: async ([aid, amount], flags) =>
      order(grantOrder(aidOf(aid), amount, flags), await configForOrder(flags)),
  },
  redemptions: {
    usage: 'redemptions',
    summary:
      'list what agents gave back, newest first: who, how much, when, and the reference to pay out against',
    flags: [...placeFlags, 'since'],
    positionals: 0,
    run: async (_, flags) => redemptions(flags['since'], await configForOrder(flags)),
  },
  witness: {
    usage: 'witness [ls | add <AID> [<url>] | rm <AID> | run <url>]',
    summary:
      'show or set who watches what your hub publishes of its credits, at most 64; or watch another hub, every hour',
    flags: [...placeFlags, 'once'],
    positionals: 3,
    run: async ([what, who, url], flags) =>
      witness([what, who, url], flags['once'] === true, await configForOrder(flags)),
  },
  peers: {
    usage:
      'peers [ls | add [<url>] | limit <AID> <credits> | paid <AID> <credits> | reopen <AID> | rm <AID>]',
    summary:
      'list the hubs that this one exchanges mail and directories with, list another, set what one may owe, book what it paid, let payments cross again, or end that',
    flags: [...placeFlags, 'wire1-url', 'yes', 'ref'],
    positionals: 3,
    run: async ([what, who, credits], flags) =>
      peers([what, who, credits], flags, await configForOrder(flags)),
  },
  invite: {
    usage: 'invite [new | ls | revoke <name>]',
    summary:
      'make a code by which one new agent joins over wire 1, list those that were made, or take one back',
    flags: [...placeFlags, 'days'],
    positionals: 2,
    run: async ([what, name], flags) => invite([what, name], flags, await configForOrder(flags)),
  },
  clock: {
    usage: 'clock [accept]',
    summary:
      'show the clock by which holds lapse, or say that it is right after it went ahead by more than an hour',
    flags: placeFlags,
    positionals: 1,
    run: async ([what], flags) => order(clockOrder(what), await configForOrder(flags)),
  },
  rotate: {
    usage: 'rotate',
    summary:
      "replace the hub's own key by its committed next one; its AID stays, and nodes follow by themselves",
    flags: placeFlags,
    positionals: 0,
    run: async (_, flags) => order({ command: 'rotate' }, await configForOrder(flags)),
  },
  stats: {
    usage: 'stats',
    summary: 'show counters of the hub',
    flags: placeFlags,
    positionals: 0,
    run: async (_, flags) => order({ command: 'stats' }, await configForOrder(flags)),
  },
  backup: {
    usage: 'backup <folder>',
    summary: 'save everything to a new folder, even while the hub is serving',
    flags: [...directoryFlags, 'keep'],
    positionals: 1,
    run: async ([folder], flags) => {
      const { backup, backupKeeping } = await import('../operator/commands.ts')
      const target = needed(folder, 'a folder')
      const keep = keepOf(flags)
      return keep === undefined
        ? await backup(target, await configForOrder(flags))
        : await backupKeeping(target, keep, await configForOrder(flags))
    },
  },
  restore: {
    usage: 'restore [<backup>]',
    summary:
      'create a data directory from a backup, or verify one with --check; --from-witness alone completes a restored one; without a backup, go on over a database that was put back to an earlier time',
    flags: [...placeFlags, 'check', 'from-witness'],
    positionals: 1,
    run: async ([backup], flags) => {
      const { check, restore, restoreDatabase } = await import('../operator/commands.ts')
      const url = flags['from-witness'] as string | undefined
      if (url !== undefined && backup === undefined) return await returnChain(url, configOf(flags))
      const { database } = configOf(flags)
      if (backup === undefined && database !== undefined)
        return await restoreDatabase(database, configOf(flags))
      const folder = needed(backup, 'a backup')
      if (flags['check'] === true) return await check(folder)
      const code = await restore(folder, configOf(flags))
      return url === undefined || code !== 0 ? code : await returnChain(url, configOf(flags))
    },
  },
  migrate: {
    usage: 'migrate --to <postgres URL | file>',
    summary: 'move a stopped hub: its rows to a database, or from one to a file in the data directory',
    flags: [...placeFlags, 'to'],
    positionals: 0,
    run: async (_, flags) => (await import('./migrate.ts')).migrate(flags['to'], settingsOf(flags)),
  },
  doctor: {
    usage: 'doctor',
    summary: 'find problems and name the command that fixes each',
    flags: [...placeFlags, 'listen', 'base-url', 'operator-listen'],
    positionals: 0,
    run: async (_, flags) =>
      (await import('../operator/doctor.ts')).doctor(() => configOf(flags), {
        usual: usualOf(flags),
        json: flags['json'] === true,
        given: Object.fromEntries(
          ['listen', 'base-url', 'operator-listen'].map(flag => [flag, flags[flag] as string | undefined]),
        ),
      }),
  },
  version: {
    usage: 'version',
    summary: 'release, commit and build time',
    flags: ['json'],
    positionals: 0,
    run: async () =>
      print({ version: buildInfo.version, commit: buildInfo.commit, built_at: buildInfo.builtAt }),
  },
  completion: {
    usage: 'completion [bash | zsh | fish]',
    summary: 'print what a shell offers behind svc-hub: source <(svc-hub completion bash)',
    flags: [],
    positionals: 1,
    run: async () => 0,
  },
  help: {
    usage: 'help [command]',
    summary: 'show this list, or one command with its flags',
    flags: [],
    positionals: 1,
    run: async () => 0,
  },
}
function needed(text: string | undefined, what: string): string {
  if (text === undefined || text.trim() === '') throw new UsageError(`expected ${what}`)
  return text
}

function settingsOf(flags: Flags): ConfigFlags {
  const text = (name: string): string | undefined => flags[name] as string | undefined
  const onOf = (name: string): string | undefined => (flags[name] === true ? 'on' : undefined)
  return {
    config: text('config'),
    listen: text('listen'),
    dataDir: text('data-dir'),
    baseUrl: text('base-url'),
    operatorListen: text('operator-listen'),
    adminListen: text('admin-listen'),
    adminBase: text('admin-base'),
    docs: text('docs'),
    store: text('store'),
    storeListen: text('store-listen'),
    storePasswordFile: text('store-password-file'),
    files: text('files'),
    wire: text('wire'),
    wire1Listen: text('wire1-listen'),
    wire1BaseUrl: text('wire1-base-url'),
    guests: onOf('guests'),
    wire1Federation: onOf('wire1-federation'),
    wire1Discovery: onOf('wire1-discovery'),
  }
}

const configOf = (flags: Flags): Config => readConfig(settingsOf(flags), process.env)

/** The configuration without a file that is wrong, where the data directory is known all the same. */
function usualOf(flags: Flags): Config | undefined {
  const place = placeOf(settingsOf(flags), process.env)
  return place === undefined ? undefined : usualConfig(place)
}

/** A hub that runs takes orders whatever its configuration file says by now. */
async function configForOrder(flags: Flags): Promise<Config> {
  try {
    return configOf(flags)
  } catch (error) {
    const usual = usualOf(flags)
    if (!(error instanceof ConfigRefused) || usual === undefined || !(await isServed(usual))) throw error
    process.stderr.write(
      `svc-hub: ${error.found}; the hub that runs takes the order all the same, and does not start again until you ${error.next}\n`,
    )
    return usual
  }
}

const KEPT_MAX = 10_000

function keepOf(flags: Flags): number | undefined {
  const text = flags['keep']
  if (text === undefined) return undefined
  const keep = typeof text === 'string' && /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  if (keep < 1 || keep > KEPT_MAX) throw new UsageError(`--keep expects a whole number from 1 to ${KEPT_MAX}`)
  return keep
}
