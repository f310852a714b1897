/** A hub as a process of its own for measurements: `hub-process.ts <data dir> [most changes in one transaction] [standard]`. */
import { defaultLimits } from '../../hub/core/limits.ts'
import { startHub } from '../../hub/serve.ts'
import { present } from '../../protocol/encoding/present.ts'

const [, , directory = '.', groupMax = '0', engine] = process.argv
const quiet = () => undefined

const running = await startHub({
  config: {
    wires: [3],
    listen: { host: '127.0.0.1', port: 0 },
    baseUrl: undefined,
    dataDir: directory,
    limits: {
      ...defaultLimits,
      mailboxEnvelopesMax: 1_000_000,
      mailboxBytesMax: 2 ** 40,
      sessionQuota: 1_000_000,
      bucketRate: { perSecond: 1_000_000, burst: 1_000_000 },
      peerRate: { perSecond: 1_000_000, burst: 1_000_000 },
    },
  },
  log: { info: quiet, warn: quiet, error: quiet },
  onBroken: () => process.exit(1),
  ...present({ groupMax: groupMax === '0' ? undefined : Number(groupMax) }),
  standardEngine: engine === 'standard',
})
process.stdout.write(`${JSON.stringify({ url: running.url, aid: running.aid })}\n`)
// Whoever started this process asks for the processor time of its main thread.
process.on('message', () => process.send?.(process.threadCpuUsage()))
process.once('SIGTERM', () => void running.close().then(() => process.exit(0)))
