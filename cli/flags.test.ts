import { describe, expect, test } from 'vitest'
import { callPaths } from './command.ts'
import { commandsNamed, findCommand } from './flags.ts'
import { CommandFailed } from './io.ts'
import { parse } from './parse.ts'
import { commands } from './table.ts'

const parseArguments = (argv: string[]) => {
  const found = findCommand(argv)
  return { row: found.row, input: parse(found) }
}

const refusal = (argv: string[]): CommandFailed => {
  try {
    parseArguments(argv)
  } catch (error) {
    if (error instanceof CommandFailed) return error
    throw error
  }
  throw new Error('was accepted')
}

describe('--human', () => {
  test('stands anywhere but behind -- and changes nothing else', () => {
    for (const argv of [
      ['--human', 'find', 'x'],
      ['find', '--human', 'x'],
      ['find', 'x', '--human'],
    ]) {
      const { row, words, human } = findCommand(argv)
      expect([row.path, words, human]).toEqual(['find', ['x'], true])
    }
    expect(findCommand(['find', '--', '--human'])).toMatchObject({ words: ['--', '--human'], human: false })
    expect(refusal(['status', '--human=x']).message).toBe('--human takes no value')
  })
})

describe('--id', () => {
  test.each([
    [['--id', 'b', 'status']],
    [['status', '--id', 'b']],
    [['--id=b', 'status']],
    [['status', '--id=b']],
  ])('stands anywhere: %j', argv => {
    const { row, input } = parseArguments(argv)
    expect([row.path, input.id]).toEqual(['status', 'b'])
  })

  test('stands between the words of a command', () => {
    const { row, input } = parseArguments(['id', '--id', 'b', 'use', 'alice'])
    expect([row.path, input.id, input.positionals]).toEqual(['id use', 'b', ['alice']])
  })

  test('is what an argument that names the identity says', () => {
    for (const words of [
      ['up', 'alice'],
      ['id', 'new', 'alice'],
      ['--id', 'b', 'stop', 'alice'],
    ]) {
      const { input } = parseArguments(words)
      expect([words, input.id, input.positionals]).toEqual([words, 'alice', []])
    }
  })

  test('is not taken from the value of another flag or from behind --', () => {
    expect(parseArguments(['message', 'x', '--file=--id']).input.flags.get('--file')).toEqual(['--id'])
    expect(refusal(['message', 'x', '--file', '--id']).message).toBe('missing value: --file <PATH>')
    expect(parseArguments(['message', 'x', '--', '--id']).input).toMatchObject({
      id: undefined,
      positionals: ['x', '--id'],
    })
  })

  test('needs a name', () => {
    expect(refusal(['status', '--id']).message).toBe('missing value: --id <NAME>')
  })
})

describe('flags', () => {
  test('are written --key value or --key=value', () => {
    const forms = [['--caps', 'a,b'], ['--caps=a,b']]
    for (const form of forms) {
      expect(parseArguments(['hub-register', 'http://h', ...form]).input.flags.get('--caps')).toEqual(['a,b'])
    }
  })

  test('a value may hold = and start with a dash', () => {
    const { input } = parseArguments(['delegate', 'a', '--capability=x', '--args={"a":"b=c"}'])
    expect(input.flags.get('--args')).toEqual(['{"a":"b=c"}'])
  })

  test('an unknown one is refused before dispatch with exit code 2 and the accepted list', () => {
    const error = refusal(['status', '--bogus'])
    expect(error.exitCode).toBe(2)
    expect(error.message).toBe('unknown flag --bogus for "status"; accepted: --id, --human')
    expect(refusal(['inbox', '--bogus=1']).message).toContain(
      'accepted: --pending, --archived, --search, --limit, --cursor, --id, --human',
    )
    expect(refusal(['--bogus']).exitCode).toBe(2)
  })

  test('a nearly right one gets the nearest of its command', () => {
    expect(refusal(['inbox', '--pendng']).message).toContain(
      'unknown flag --pendng for "inbox"; the nearest is --pending; accepted: --pending, ',
    )
    expect(refusal(['inbox', '--payto=x']).message).not.toContain('nearest')
  })

  test('one that repeats keeps every value, any other may be given once', () => {
    const { input } = parseArguments(['delegate', 'a', 'task', '--attach', 'x', '--attach=y'])
    expect(input.flags.get('--attach')).toEqual(['x', 'y'])
    expect(refusal(['results', '--limit', '1', '--limit', '2']).message).toBe(
      '--limit was given more than once',
    )
  })

  test('one without its value is named', () => {
    expect(refusal(['find', '--cap']).message).toBe('missing value: --cap <ID>')
    expect(refusal(['inbox', '--pending=yes']).message).toBe('--pending takes no value')
  })

  test('one of a few values refuses others', () => {
    expect(refusal(['autoreply', 'set', '--backend', 'magic']).message).toContain('exec or openai')
  })
})

describe('texts', () => {
  test.each([['- bullet'], ['-1 from me'], ['-x']])('may start with a dash: %s', text => {
    expect(parseArguments(['delegate', 'bob', text]).input.positionals).toEqual(['bob', text])
  })

  test.each(['-abcdefghijklmnopqrstu', '--bcdefghijklmnopqrstu'])('an id may begin with dashes: %s', id => {
    expect(parseArguments(['thread', id]).input.positionals).toEqual([id])
    expect(commands.flatMap(row => row.flags ?? []).filter(flag => flag.name.length === id.length)).toEqual(
      [],
    )
  })

  test('a value may start with a dash, and a switch cannot be negated', () => {
    expect(parseArguments(['inbox', '--search', '-x']).input.flags.get('--search')).toEqual(['-x'])
    expect(refusal(['inbox', '--no-pending']).message).toContain('unknown flag --no-pending')
  })

  test('after -- anything is a text', () => {
    expect(parseArguments(['delegate', 'bob', '--', '--weird']).input.positionals).toEqual(['bob', '--weird'])
  })

  test('missing and extra ones are named', () => {
    expect(refusal(['delegate']).message).toBe('missing argument: <aid>')
    expect(refusal(['delegate', 'bob', 'two', 'words']).message).toContain('unexpected argument: words')
  })
})

describe('commands', () => {
  test.each(commands.flatMap(row => callPaths(row).map(path => [path, row.path] as const)))(
    '%s means %s',
    (path, expected) => {
      const row = commands.find(command => command.path === expected)
      const positionals = (row?.positionals ?? [])
        .filter(({ required }) => required)
        .map(({ values }) => values?.[0] ?? 'x')
      expect(parseArguments([...path.split(' '), ...positionals]).row.path).toBe(expected)
    },
  )

  test.each([
    ['list', 'id ls'],
    ['id list', 'id ls'],
    ['create x', 'id new'],
    ['id create x', 'id new'],
    ['add x', 'id new'],
    ['switch x', 'id use'],
    ['id select x', 'id use'],
    ['remove x', 'id rm'],
    ['id delete x', 'id rm'],
    ['ids', 'id ls'],
    ['identity new x', 'id new'],
    ['identity', 'id ls'],
    ['down', 'stop'],
    ['msg x y', 'message'],
    ['auto-reply show', 'autoreply show'],
    ['auto-reply', 'autoreply show'],
    ['--version', 'version'],
    ['-v', 'version'],
    ['-h', 'help'],
    ['--help', 'help'],
    ['', 'help'],
  ])('the alias "%s" means %s', (line, expected) => {
    expect(parseArguments(line.split(' ').filter(word => word !== '')).row.path).toBe(expected)
  })

  test.each([
    ['status', '-h'],
    ['id', 'new', '--help'],
    ['delegate', 'bob', '-h'],
    ['message', 'x', 'text', '--help'],
    ['--id', 'b', 'find', '--help'],
  ])('%s %s asks for help and does nothing else', (...argv) => {
    const { row, input } = parseArguments(argv)
    expect(row.path).toBe('help')
    expect(argv.join(' ')).toContain(input.positionals.join(' '))
  })

  test('behind -- a wish for help is a text', () => {
    expect(parseArguments(['delegate', 'bob', '--', '-h']).input.positionals).toEqual(['bob', '-h'])
  })

  test('-d is --detach of daemon only', () => {
    expect(parseArguments(['daemon', '-d']).input.flags.has('--detach')).toBe(true)
    expect(parseArguments(['message', 'x', '-d']).input.positionals).toEqual(['x', '-d'])
  })

  test('a typing error gets the nearest command', () => {
    expect(refusal(['statsu'])).toMatchObject({
      message: 'unknown command: statsu',
      next: 'svc status',
      exitCode: 2,
    })
    expect(refusal(['id', 'nwe', 'x']).next).toBe('svc id new')
  })

  test('no typing error gets a command that destroys', () => {
    expect(refusal(['delegte', 'bob', 'x']).next).toBe('svc delegate')
    const typed = commands
      .filter(row => row.destroys)
      .flatMap(row => [row.path, ...(row.aliases ?? [])])
      .flatMap(path => [path.slice(0, -1), `${path}x`])
    for (const line of typed) {
      const { next } = refusal(line.split(' '))
      expect([line, commandsNamed((next ?? '').split(' ').slice(1))]).toEqual([
        line,
        expect.not.arrayContaining([expect.objectContaining({ destroys: true })]),
      ])
    }
  })
})
