/** All that a recipient's hub asks another one waits, and meets one of each kind of what loses or doubles it. */
import { testRecipientsHub } from './all-waiting.ts'

testRecipientsHub('first')
