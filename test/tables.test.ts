/** The printed tables beside what the interface documents say: methods, paths, authentication, actions, codes, commands. */

import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { present } from '../protocol/encoding/present.ts'

const root = new URL('..', import.meta.url).pathname
const print = <T>(script: string): T =>
  JSON.parse(
    execFileSync(process.execPath, [`scripts/${script}.ts`, '--json'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1 << 24,
    }),
  ) as T

type Route = {
  line: string
  method: string
  path: string
  auth: string
  action?: string
  codes: string[]
  limits: Record<string, number>
  own?: true
}
type Code = { line: string; code: string; status: number; members: string[] }
type Command = {
  path: string
  aliases: string[]
  flags: { name: string; value: string | null; repeat: boolean }[]
  positionals: { name: string; required: boolean; repeat: boolean }[]
  needsDaemon: boolean
}
const { routes, codes } = print<{ routes: Route[]; codes: Code[] }>('routes')
const commands = print<Command[]>('commands')

describe('routes of wire 1', () => {
  const ofWire1 = routes.filter(({ line }) => line === 'wire1')

  test('are those of its document, but for a page of our own', () => {
    const [reads, sends] = ['GET', 'POST'].map(method =>
      ofWire1
        .filter(row => row.method === method && !row.own)
        .map(row => `${row.path} ${row.action ?? ''}`.trim()),
    )
    expect(reads?.sort()).toEqual(
      [
        ...[
          '/',
          '/agents',
          '/agents/{aid}',
          '/agents/{aid}/balance',
          '/agents/{aid}/card',
          '/agents/{aid}/kel',
        ],
        ...[
          '/agents/{aid}/ledger',
          '/agents/{aid}/p2p',
          '/agents/{aid}/redemptions',
          '/agents/{aid}/reputation',
        ],
        ...['/fed/v1/cards', '/fed/v1/reviews', '/federation/reviews', '/graph', '/healthz', '/hub/identity'],
        ...['/llms.txt', '/p2p/peers', '/research', '/stats', '/tasks/board', '/tasks/cards/{id}'],
        ...['/x402/issuance', '/x402/issuance/head', '/x402/resource/{aid}/{capability}', '/x402/supply'],
        ...['/x402/supported', '/x402/witnesses'],
      ].sort(),
    )
    expect(sends?.sort()).toEqual(
      [
        ...[
          '/agents/{aid}/deregister profile',
          '/agents/{aid}/p2p profile',
          '/agents/{aid}/visibility profile',
        ],
        ...['/profile profile', '/register register', '/relay/ack ack', '/relay/poll poll', '/relay/send'],
        ...[
          '/fed/v1/forward',
          '/federation/clear',
          '/reviews',
          '/x402/redeem',
          '/x402/settle',
          '/x402/verify',
        ],
        ...['/x402/witness', '/guest/end', '/guest/poll', '/guest/send', '/guest/start'],
        ...['accept', 'block', 'claim', 'create', 'move', 'reject', 'submit', 'unblock'].map(
          name => `/tasks/${name} task.${name}`,
        ),
      ].sort(),
    )
    expect(ofWire1.filter(({ own }) => own).map(({ path }) => path)).toEqual(['/guest'])
  })

  test('name failures that have a status', () => {
    const known = codes.filter(({ line }) => line === 'wire1').map(({ code }) => code)
    for (const row of ofWire1) expect(known, row.path).toEqual(expect.arrayContaining(row.codes))
  })
})

test('routes of the operator’s listener are those of the document', () => {
  const ofOperator = routes.filter(({ line }) => line === 'operator')
  const api = (method: string) => (path: string) => `${method} /admin/api/${path}`
  expect(ofOperator.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [
      ...['GET /admin/healthz', 'GET /admin', 'GET /admin/', 'POST /admin/api/login'],
      ...['overview', 'agents', 'agents/{aid}', 'official', 'deleted'].map(api('GET')),
      ...['monitor/{what}', 'insights'].map(what => `official/{id}/${what}`).map(api('GET')),
      ...['capabilities', 'discover', 'vision', 'store', 'sessions', 'sessions/{source}/{id}'].map(
        api('GET'),
      ),
      ...['reviews', 'tasks', 'audit'].map(api('GET')),
      ...['agents/{aid}/quota', 'agents/{aid}/moderate', 'official', 'harvest'].map(api('POST')),
      ...['official/{id}/ops', 'official/{id}/acl', 'deleted/{aid}/restore'].map(api('POST')),
      ...['agents/{aid}', 'official/{id}'].map(api('DELETE')),
    ].sort(),
  )
})

describe('routes of wire 3', () => {
  test.each([
    ['POST /relay/session', 'signed', 'session', 'admission_required'],
    [
      'POST /relay/send',
      'credential',
      undefined,
      'access_invalid bad_envelope bad_exp expired kid_stale mailbox_full rate_limited recipient_unknown redelivery_limited session_invalid strangers_busy too_large_for_stranger',
    ],
    ['POST /relay/poll', 'signed', 'poll', ''],
    ['POST /relay/ack', 'signed', 'ack', 'bad_ack_item'],
    ['POST /relay/status', 'anonymous', undefined, 'bad_status_query rate_limited'],
    ['POST /mailbox/revoke', 'signed', 'revoke', 'revocation_list_full'],
    [
      'POST /register',
      'signed',
      'register',
      'admission_required pow_required registration_quota invite_removed witness_not_this_hub aid_deactivated kel_invalid kel_fork kel_rollback kel_ts_out_of_window keys_rollback',
    ],
    ['POST /agents/{aid}/keys', 'signed', 'keys', 'keys_rollback kel_invalid'],
    ['GET /agents/{aid}/keys', 'none', undefined, 'unknown_aid'],
    [
      'POST /agents/kel:push',
      'none',
      undefined,
      'unknown_aid kel_fork kel_rollback kel_invalid kel_ts_out_of_window rate_limited',
    ],
    ['GET /hub/identity', 'none', undefined, ''],
    ['GET /hub/kels', 'none', undefined, ''],
    ['GET /agents/{aid}/kel', 'none', undefined, 'unknown_aid'],
    ['POST /directory:bucket', 'anonymous', undefined, 'bucket_too_narrow rate_limited'],
    ['GET /agents', 'anonymous', undefined, ''],
    ['GET /a2a/v1/agents', 'anonymous', undefined, ''],
    ['GET /agents/{aid}', 'none', undefined, ''],
    ['GET /healthz', 'none', undefined, ''],
    ['POST /profile', 'signed', 'profile', ''],
    ['POST /agents/{aid}/visibility', 'signed', 'visibility', ''],
    ['POST /agents/{aid}/deregister', 'signed', 'deregister', ''],
    ['GET /stats', 'none', undefined, ''],
  ])('%s is %s %s and answers its codes', (name, auth, action, expected) => {
    const [method, path] = name.split(' ')
    const row = routes.find(route => route.line === 'wire3' && route.method === method && route.path === path)
    expect(row).toMatchObject({ auth, ...present({ action }) })
    expect(row?.codes).toEqual(expect.arrayContaining(expected.split(' ').filter(code => code !== '')))
    expect(row?.own).toBeUndefined()
  })

  test('no row lists a common code, and every listed code has a row of its own', () => {
    const common = [
      'bad_request',
      'not_found',
      'internal',
      'too_large',
      'wire_too_new',
      'wire_too_old',
      'unauthorized',
      'key_retired',
      'replayed',
      'ts_stale',
      'identity_headers_not_allowed',
    ]
    for (const row of routes.filter(route => route.line === 'wire3')) {
      expect(
        row.codes.filter(code => common.includes(code)),
        row.path,
      ).toEqual([])
      for (const code of row.codes)
        expect(
          codes.some(entry => entry.line === 'wire3' && entry.code === code),
          code,
        ).toBe(true)
    }
  })

  test.each([
    ['access_invalid', 403, ''],
    ['admission_required', 403, 'aid'],
    ['aid_deactivated', 410, ''],
    ['bucket_too_narrow', 400, 'max_bits'],
    ['gateway_removed', 410, ''],
    ['home_unreachable', 502, ''],
    ['keys_rollback', 409, 'stored_seq'],
    ['mailbox_full', 507, ''],
    ['pow_required', 403, 'challenge'],
    ['registration_quota', 429, ''],
    ['revocation_list_full', 429, ''],
    ['session_invalid', 401, ''],
    ['too_large', 413, ''],
    ['ts_stale', 401, 'floor'],
    ['unknown_destination', 404, ''],
    ['wire_too_new', 400, ''],
    ['wire_too_old', 426, 'required_wire required_svc'],
  ])('the code %s has status %i and members "%s"', (code, status, members) => {
    const row = codes.find(entry => entry.line === 'wire3' && entry.code === code)
    expect(row).toMatchObject({ status, members: members.split(' ').filter(member => member !== '') })
  })
})

describe('the control interface', () => {
  test('the routes that a document has are not marked as our own, all others are', () => {
    const documented = routes
      .filter(route => route.line === 'control' && route.own !== true)
      .map(route => `${route.method} ${route.path}`)
    expect(documented.sort()).toEqual([
      'GET /',
      'GET /attachment',
      'GET /console',
      'GET /ping',
      'GET /results',
      'GET /status',
      'POST /evidence',
      'POST /shutdown',
    ])
  })

  test('everything is behind the bearer but the root, the console with what opens its pages, ping and attachments', () => {
    const open = routes
      .filter(route => route.line === 'control' && route.auth === 'open')
      .map(route => route.path)
    expect(open.sort()).toEqual([
      '/',
      '/attachment',
      '/console',
      '/console/call',
      '/console/open',
      '/console/session',
      '/ping',
    ])
  })
})

describe('commands', () => {
  test.each([
    ['daemon', '--detach --stdio', ''],
    ['up', '', 'name'],
    ['stop', '--all', 'name'],
    ['status', '', ''],
    ['logs', '--all', 'N'],
    ['id ls', '', ''],
    ['id new', '', 'name!'],
    ['id use', '', 'name!'],
    ['id rm', '--purge', 'name!'],
    ['id rotate', '', ''],
    ['id deactivate', '', ''],
    ['hub-register', '--name --caps --token --guest-messages --accept-delegations', 'url!'],
    ['hub-leave', '', 'url'],
    ['accept', '', 'on|off!'],
    ['profile set', '--summary --readme --pricing', ''],
    ['profile show', '', ''],
    ['visibility', '', 'hub-local|federated|public!'],
    ['autoreply show', '', ''],
    ['autoreply off', '', ''],
    [
      'autoreply test',
      '--backend --agent --work-dir --openclaw-agent --model --api-base --api-key --system-prompt --command --api-timeout',
      'question',
    ],
    [
      'autoreply set',
      '--backend --agent --work-dir --openclaw-agent --model --api-base --api-key --system-prompt --require-image --usage-hint --error-reply --command --poll-interval --max-history --api-timeout --max-auto-replies',
      '',
    ],
    ['contact add', '', 'aid! name!'],
    ['contact ls', '', ''],
    ['contact rm', '', 'name!'],
    ['contact block', '', 'name!'],
    ['find', '--cap', 'query'],
    ['delegate', '--attach --capability --args --pay', 'aid! task'],
    ['inbox', '--pending', ''],
    ['approve', '', 'id!'],
    ['decline', '', 'id! reason'],
    ['thread', '', 'id!'],
    ['message', '--file --attach', 'id! text'],
    ['pull', '--out', 'id!'],
    ['end', '', 'id! note'],
    ['accept-end', '', 'id!'],
    ['accept-receipt', '', 'id!'],
    ['cancel', '', 'id! reason'],
    ['results', '', ''],
    ['review', '', 'id! rating! comment'],
    ['evidence', '--type --since --limit', ''],
    ['verify', '--receipt --kel --hub --result --attestation', 'id'],
    ['balance', '', ''],
    ['redeem', '--ref', 'amount!'],
    ['reconcile', '', ''],
    ['audit-hub', '', ''],
    ['x402-authorize', '--pay-to --amount --network --interaction', ''],
    ['p2p-advertise', '', 'addr'],
    ['p2p serve', '--listen', ''],
    ['p2p on', '--host', ''],
    ['p2p off', '', ''],
    ['console', '--url', ''],
    ['tui', '', ''],
    ['install', '--agent', 'tool'],
    ['watch', '', ''],
    ['mcp', '', ''],
    ['version', '', ''],
    ['help', '--all', 'command'],
  ])('%s takes %s and <%s>', (path, flags, positionals) => {
    const row = commands.find(command => command.path === path)
    expect(row?.flags.map(flag => flag.name)).toEqual(
      expect.arrayContaining([...flags.split(' ').filter(flag => flag !== ''), '--id']),
    )
    expect(row?.positionals.map(({ name, required }) => (required ? `${name}!` : name)).join(' ')).toBe(
      positionals,
    )
  })

  test('only these need no running node', () => {
    const free = commands.filter(({ needsDaemon }) => !needsDaemon).map(command => command.path)
    expect(free.sort()).toEqual([
      'backup',
      'completion',
      'daemon',
      'demo',
      'doctor',
      'evidence accept',
      'evidence import',
      'help',
      'hook inbox',
      'id export',
      'id import',
      'id kel',
      'id ls',
      'id new',
      'id next export',
      'id next import',
      'id rm',
      'id use',
      'install',
      'logs',
      'mcp',
      'restore',
      'uninstall',
      'up',
      'verify',
      'version',
      'welcome',
    ])
  })

  test('--attach, --extra-arg, --folder, hosts and what verify is shown repeat, everything else is given once', () => {
    const repeating = commands.flatMap(command =>
      command.flags.filter(flag => flag.repeat).map(flag => `${command.path} ${flag.name}`),
    )
    expect(repeating.sort()).toEqual([
      'a2a on --host',
      'a2a on --push-host',
      'autoreply set --extra-arg',
      'autoreply test --extra-arg',
      'daemon --folder',
      'delegate --attach',
      'mcp --folder',
      'message --attach',
      'p2p on --host',
      'verify --attestation',
      'verify --head',
      'verify --kel',
    ])
  })

  test('the aliases are those of the documents', () => {
    const aliases = Object.fromEntries(
      commands.filter(command => command.aliases.length > 0).map(command => [command.path, command.aliases]),
    )
    expect(aliases).toMatchObject({
      stop: ['down'],
      'id ls': ['list'],
      'id new': ['create', 'add'],
      'id use': ['switch', 'select'],
      'id rm': ['remove', 'delete'],
      message: ['msg'],
      'autoreply show': ['auto-reply show'],
      balance: ['credits'],
      'x402-authorize': ['pay-header'],
      version: ['--version', '-v'],
      help: ['--help', '-h'],
    })
  })
})
