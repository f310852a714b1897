/** Bad input of every command of svc-hub, generated from its table: the refusal is a sentence of ours. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { EXIT_CONFIG, EXIT_FAILED, EXIT_USAGE } from '../terminal.ts'
import { flagTable } from './flags.ts'
import { main } from './main.ts'
import { commands } from './table.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-sentences-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const FOREIGN =
  /\bE[A-Z]{3,}\b|Invalid (input|string|option)|Too (small|big)|Unrecognized|received|undefined|\bNaN\b|\[object|syscall|Error:|\bat .*\.[jt]s:\d/
const bad = ['', ' ', '-1', '1.5', 'x'.repeat(3000), '/no/such/file', '{', 'ünïcode', '192.0.2.0/99']
/** What helps: the usage of the command, or behind the colon or semicolon of the sentence. */
const NEXT = /\nusage: svc-hub \S|[;:] \S.*[;:] \S/
/** They would start something, or make a hub. */
const MAKING = ['serve', 'init', 'doctor', 'completion', 'version', 'help']

async function run(argv: string[]): Promise<{ code: number; err: string }> {
  let err = ''
  const code = await main(argv, {
    out: () => undefined,
    err: text => {
      err += text
    },
  })
  return { code, err }
}

const AID = `AQ${'A'.repeat(42)}`
const none = join(folder, 'none')
const OF_ONE = [
  'admit',
  'unadmit',
  'block',
  'unblock',
  'remove',
  'quota',
  'agents show',
  'archive',
  'unarchive',
  'listed',
]

/** Command lines that go wrong, by their exit code. */
const mistakes: [code: number, lines: string[]][] = [
  [
    EXIT_USAGE,
    [
      ...OF_ONE.map(command => `${command} Axyz`),
      ...[`archive ls --reason x`, `archive ${AID} --reason ${'x'.repeat(300)}`, `listed ${AID} maybe`],
      ...['admission ajar', 'ranges refuse 192.0.2.0/99', 'ranges allow x', 'ranges drop', 'agents all'],
      ...[`quota ${AID} --bytes 1`, `quota ${AID} --envelopes x`, 'backup', 'backup x --keep 0', 'restore'],
      ...[`grant ${AID} 0 --reason x`, `grant ${AID} 1`, 'grant x 1 --reason x'],
      ...[`grant ${AID} 1 --reason x --id 7`, 'clock x'],
      ...['peers add', 'peers add --wire1-url x', 'peers ls --wire1-url http://127.0.0.1:9'],
      ...['invite x', 'invite revoke', 'invite revoke x', 'invite new --days 0', 'invite ls --days 3'],
      ...[
        'witness x',
        'witness add x',
        `witness add ${AID} x`,
        'witness rm',
        `witness rm ${AID} x`,
        'witness ls x',
      ],
      ...['redemptions x', 'redemptions --since', 'redemptions --since 31.1.2026'],
      ...['migrate', 'migrate --to file'],
      ...['nonsense', 'stats --nonsense', 'stats more', 'serve --listen', 'help nonsense'],
      ...['migrate', 'migrate --to file'],
    ],
  ],
  [
    EXIT_FAILED,
    [
      ...OF_ONE.map(command => `${command} ${AID}`),
      ...[`grant ${AID} 5 --reason x`, `grant ${AID} 5 --reason x --id ${'a1'.repeat(16)}`],
      ...['clock', 'clock accept', 'invite', 'invite new', 'invite revoke 0a1b2c3d'],
      ...['witness', `witness add ${AID}`, `witness rm ${AID}`, 'witness run http://127.0.0.1:9 --once'],
      ...[
        'peers',
        `peers rm ${AID}`,
        `peers limit ${AID} 5`,
        `peers reopen ${AID}`,
        `peers paid ${AID} 5 --ref x`,
        `peers add http://127.0.0.1:9 --yes ${AID}`,
      ],
      'restore --from-witness http://127.0.0.1:9',
      ...['redemptions', 'redemptions --since 2026-01-31', 'redemptions --since 2026-01-31T12:00Z'],
      ...['archive', `archive ${AID} --reason x`, `listed ${AID} no`],
      ...['stats', 'agents', 'admission', 'ranges', 'ranges refuse 192.0.2.0/24', 'rotate', 'doctor'],
      'migrate --to postgres://nobody@127.0.0.1:9/none',
      ...[`backup ${join(folder, 'saved')}`, `restore ${none}`, `restore ${none} --check`],
    ],
  ],
  [
    EXIT_CONFIG,
    ['stats', 'init', 'serve', `admit ${AID}`, 'migrate --to mysql:x'].map(
      line => `${line} --config ${none}`,
    ),
  ],
]

describe('the exit code says what kind of mistake it was', () => {
  const rows = mistakes.flatMap(([code, lines]) => lines.map(line => [line, code] as const))
  test.each(rows)('%s: %i', async (line, code) => {
    const place = /nonsense$/.test(line) ? [] : ['--data-dir', none]
    expect((await run([...line.split(' '), ...place])).code).toBe(code)
  })

  test('of every command', () => {
    const tried = new Set(rows.map(([line]) => line.split(' ')[0]))
    expect(Object.keys(commands).filter(name => !tried.has(name))).toEqual(['version', 'completion'])
  })
})

describe('bad input is refused in plain words by', () => {
  test.each(Object.entries(commands).filter(([name]) => !MAKING.includes(name)))(
    '%s',
    async (name, command) => {
      const place = ['--data-dir', join(folder, 'none')]
      const lines = [
        [name, '--no-such-flag'],
        [name, 'one', 'two', 'three'],
        ...bad.map(value => [name, value, ...place]),
        ...bad.map(value => [name, 'show', value, ...place]),
        ...command.flags
          .filter(flag => flag !== 'data-dir')
          .flatMap(flag => bad.map(value => [name, 'x', `--${flag}`, value, ...place])),
      ]
      for (const line of lines) {
        const { code, err } = await run(line)
        expect([line, code]).not.toEqual([line, 0])
        expect([line, err]).toEqual([line, expect.stringMatching(/^svc-hub: \S/)])
        expect([line, err]).toEqual([line, expect.not.stringMatching(FOREIGN)])
        expect([line, err]).toEqual([line, expect.stringMatching(NEXT)])
      }
    },
  )

  test.each(['serve', 'doctor'] as const)('%s', async name => {
    const flags = commands[name].flags.filter(flag => flagTable[flag]?.value !== undefined)
    expect(flags.length).toBeGreaterThan(0)
    for (const flag of flags) {
      const { code, err } = await run([name, `--${flag}`])
      expect([flag, code, err]).toEqual([flag, 2, expect.stringContaining(`--${flag} expects a value`)])
    }
  })
})

test('a grant says what its amount has to be, and that it needs a reason', async () => {
  for (const amount of ['-5', '-50', '0', '1.5', 'x']) {
    const { code, err } = await run(['grant', AID, amount, '--reason', 'x', '--data-dir', none])
    expect([code, err]).toEqual([
      EXIT_USAGE,
      expect.stringMatching(
        /^svc-hub: expected an amount: a whole number above 0, .*\nusage: svc-hub grant <AID> <amount> --reason <TEXT> \[--id <ID>\] \[--data-dir/,
      ),
    ])
  }
})

test.each(['init', 'serve'])(
  'a data directory that is a link to nowhere is said to be one by %s',
  async command => {
    const [link, nowhere] = [join(folder, `dangling-${command}`), join(folder, 'no', 'where')]
    symlinkSync(nowhere, link)
    // whatever else listens on this machine
    const listen = command === 'serve' ? ['--listen', '127.0.0.1:0'] : []
    const { code, err } = await run([command, '--data-dir', link, ...listen])
    expect([code, err]).toEqual([
      EXIT_FAILED,
      `svc-hub: ${link} is a link to ${nowhere}, which does not exist; make that folder, or take the link away\n`,
    ])
  },
)
