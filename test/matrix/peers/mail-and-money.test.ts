/** All that a payer's hub asks another one waits, and meets one of each kind of what loses or doubles it. */
import { testPayersHub } from './all-waiting.ts'

testPayersHub('first')
