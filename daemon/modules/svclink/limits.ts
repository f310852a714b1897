/** What adapters and callers may ask of the device link: each limit once, with the words in which it is documented. */

const KIB = 1024
const MIB = 1024 * KIB

type Limit = { readonly value: number; readonly unit: 'bytes' | 'ms' | 'lines' | ''; readonly says: string }

export const limits = {
  connections: { value: 16, unit: '', says: 'adapters that are connected at once' },
  helloMs: { value: 5_000, unit: 'ms', says: 'from connecting to the `hello` of an adapter' },
  lineBytes: { value: 3 * MIB, unit: 'bytes', says: 'one line of an adapter, its line feed included' },
  lineMs: { value: 10_000, unit: 'ms', says: 'from the first byte of a line to its line feed' },
  lineValues: { value: 8_192, unit: '', says: 'values and member names in one line' },
  burst: { value: 2_000, unit: 'lines', says: 'lines of an adapter at once' },
  linesPerSecond: {
    value: 200,
    unit: 'lines',
    says: 'lines of an adapter a second, once a burst is used up',
  },
  backlogBytes: { value: 256 * KIB, unit: 'bytes', says: 'what waits for an adapter that does not read' },
  devices: { value: 256, unit: '', says: 'devices of one adapter' },
  devicesAll: {
    value: 1_024,
    unit: '',
    says: 'devices in all; the one that is longest offline makes room for a new one',
  },
  describedBytes: {
    value: 4 * MIB,
    unit: 'bytes',
    says: 'descriptions of all devices; those that are longest offline make room for new ones',
  },
  capabilities: { value: 64, unit: '', says: 'capabilities of a device' },
  metrics: { value: 64, unit: '', says: 'metrics of a reading' },
  observedBytes: { value: 64 * KIB, unit: 'bytes', says: '`observed_state` of a reading' },
  snapshotBytes: { value: 2 * MIB, unit: 'bytes', says: 'a snapshot, before it is written as base64' },
  contentBytes: { value: 384 * KIB, unit: 'bytes', says: 'a snapshot that a caller gets whole' },
  pending: { value: 64, unit: '', says: 'calls that wait for one adapter' },
  readMs: { value: 10_000, unit: 'ms', says: 'a reading' },
  writeMs: { value: 20_000, unit: 'ms', says: 'a write, with reading it back' },
  watches: { value: 256, unit: '', says: 'subscriptions that are kept for callers' },
  watchIdleMs: { value: 300_000, unit: 'ms', says: 'a subscription that no caller asks about' },
  waitS: { value: 30, unit: '', says: 'seconds that `device.watch` waits for news' },
} as const satisfies Record<string, Limit>
